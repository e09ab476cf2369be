const KEPT_MS = 60_000; // for a browser that asks where to save

/** A file's name from a title: "Comparison, 8 workers" is "comparison-8-workers". */
export function fileName(title: string): string {
  return (
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-|-$/g, "") || "hooke"
  );
}

/** Hand a file to the browser's downloads. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

/** Have the browser fetch a file of the server to its downloads, under the name that the server gives. */
export function download(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

export function saveText(name: string, text: string, type: string): void {
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** To the clipboard; as a file where the browser forbids it, as it does over plain HTTP. Whether it was copied. */
export async function copyOrSave(name: string, text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    saveText(name, text, "text/plain");
    return false;
  }
}
