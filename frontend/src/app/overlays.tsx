import { MantineThemeProvider } from "@mantine/core";
import type { ReactNode } from "react";

const ID = "overlays";
const theme = { components: { Portal: { defaultProps: { target: `#${ID}` } } } };

/**
 * Menus, dialogs and notes within are put where `Overlays` stands, and not at the end of the document: what a person
 * reads and uses is part of a landmark, and the header of a dialog is none of the page.
 */
export function WithOverlays({ children }: { children: ReactNode }) {
  return <MantineThemeProvider theme={theme}>{children}</MantineThemeProvider>;
}

/** Their place, once, at the end of the main content. */
export function Overlays() {
  return <div id={ID} />;
}
