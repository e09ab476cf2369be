import { SegmentedControl } from "@mantine/core";
import type { Axis } from "@/lib/api/types";
import { AXES, axisLabel } from "@/lib/format/quantities";
import styles from "./ui.module.css";

/** What the curves run over; undefined, in the URL, is the train clock. */
export function AxisPicker({ axis, choose }: { axis: Axis; choose: (axis: Axis | undefined) => void }) {
  return (
    <div className={styles.scroll}>
      <SegmentedControl
        size="xs"
        classNames={{ label: styles.pickerLabel }}
        aria-label="Horizontal axis"
        data-testid="axis-picker"
        value={axis}
        data={AXES.map((value) => ({ value, label: axisLabel(value) }))}
        onChange={(value) => choose(AXES.find((known) => known === value && known !== "clock"))}
      />
    </div>
  );
}
