/** The file that somebody chooses; undefined: none. */
export function chosenFile(accept: string): Promise<File | undefined> {
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = accept;
    input.hidden = true;
    const end = () => {
      resolve(input.files?.[0]);
      input.remove();
    };
    input.addEventListener("change", end);
    input.addEventListener("cancel", end);
    document.body.append(input); // some browsers forget one that is on no page
    input.click();
  });
}
