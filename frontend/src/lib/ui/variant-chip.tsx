import { type VariantStyle, variantStyle } from "@/lib/theme/palette";
import styles from "./ui.module.css";

/** The line that stands for a variant in every chart. */
export function VariantLine({ index, width = 18 }: { index: number; width?: number }) {
  return <StyleLine style={variantStyle(index)} width={width} />;
}

/** A short line of a style. */
export function StyleLine({ style, width = 18 }: { style: VariantStyle; width?: number }) {
  const { color, dash } = style;
  return (
    <svg width={width} height={8} aria-hidden="true">
      <line
        x1={1}
        x2={width - 1}
        y1={4}
        y2={4}
        stroke={color}
        strokeWidth={3}
        strokeDasharray={dash.join(" ")}
        strokeLinecap={dash.length > 0 ? "butt" : "round"}
      />
    </svg>
  );
}

export function VariantChip({ name, index }: { name: string; index: number }) {
  return (
    <span className={styles.chip}>
      <VariantLine index={index} />
      <span>{name}</span>
    </span>
  );
}
