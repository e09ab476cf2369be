import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";

const steel: MantineColorsTuple = [
  "#eef4f9",
  "#dbe6ef",
  "#b6cddf",
  "#8db1cd",
  "#6a99bd",
  "#4c82ab",
  "#326b96",
  "#22567d",
  "#1b4767",
  "#16324a",
];

/** Greys of Mantine's parts in the dark scheme, with the hue of tokens.css: 6 is the ground of fields and menus. */
const dark: MantineColorsTuple = [
  "#c6ced4",
  "#b3bcc4",
  "#8b97a1",
  "#67727b",
  "#3a444c",
  "#30383f",
  "#1a2025",
  "#151a1e",
  "#101417",
  "#0c1012",
];

export const theme = createTheme({
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  colors: { steel, dark },
  primaryColor: "steel",
  primaryShade: { light: 8, dark: 6 },
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  headings: { fontWeight: "600" },
  components: {
    Button: { defaultProps: { size: "sm", fw: 500 } },
    Checkbox: { styles: { body: { alignItems: "center" }, label: { minHeight: 24, lineHeight: "24px" } } },
    InputWrapper: {
      defaultProps: { inputWrapperOrder: ["label", "input", "description", "error"] },
      styles: { error: { marginTop: 5 } }, // as far below the description as that is below the input
    },
    // The first item has the focus, not an empty element before it, which is no item of the menu.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    // What holds it is as wide as the window, but would begin where the page's content does.
    Modal: {
      defaultProps: { closeButtonProps: { "aria-label": "Close" } },
      styles: { inner: { left: 0 }, title: { fontWeight: 600, lineHeight: 1.3 } }, // no less than the labels below it
    },
    NumberInput: { defaultProps: { hideControls: true } }, // half as high as a finger needs; arrow keys do the same
    Pill: {
      styles: {
        root: { height: 24, maxWidth: "100%" },
        label: { lineHeight: "24px" },
        remove: { minWidth: 24, minHeight: 24 },
      },
    },
    Radio: { styles: { body: { alignItems: "center" }, label: { minHeight: 24, lineHeight: "24px" } } },
    Select: { defaultProps: { allowDeselect: false, comboboxProps: { shadow: "md" } } },
    SegmentedControl: { styles: { label: { minHeight: 24 } } }, // what is touched is at least 24 px high
    Switch: { styles: { body: { minHeight: 24, alignItems: "center" } } },
    Tooltip: { defaultProps: { openDelay: 250, withArrow: true } },
  },
});

/** Mantine's own colours follow the tokens of tokens.css. */
export const resolver: CSSVariablesResolver = () => {
  const shared = {
    "--mantine-color-body": "var(--hk-page)",
    "--mantine-color-text": "var(--hk-ink)",
    "--mantine-color-dimmed": "var(--hk-ink-2)",
    "--mantine-color-default-border": "var(--hk-line-2)",
    "--mantine-color-default": "var(--hk-surface)",
    "--mantine-color-default-hover": "var(--hk-hover)",
    "--mantine-color-placeholder": "var(--hk-ink-3)",
    "--mantine-color-error": "var(--hk-bad)",
  };
  return { variables: {}, light: shared, dark: shared };
};
