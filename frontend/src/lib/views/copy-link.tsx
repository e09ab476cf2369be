import { Button, CopyButton } from "@mantine/core";
import { linkTo } from "./pages";

/** Copies the address of a view. Browsers allow it on pages with TLS and of this computer; elsewhere it is absent. */
export function CopyLink({ path, of }: { path: string; of: string }) {
  if (!navigator.clipboard) return null;
  return (
    <CopyButton value={linkTo(path)} timeout={3000}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" onClick={copy} aria-label={`Copy the link to ${of}`}>
          {copied ? "Copied" : "Copy link"}
        </Button>
      )}
    </CopyButton>
  );
}
