import { SegmentedControl } from "@mantine/core";
import type { ChartAxis } from "@/lib/api/types";
import { axesOffered, axisLabel } from "@/lib/format/axes";
import { AXES } from "@/lib/format/quantities";
import styles from "./ui.module.css";

interface PickerProps {
  axis: ChartAxis;
  /** Whether curves can run over epochs: the number of training items is known. */
  epochs: boolean;
  choose: (axis: ChartAxis | undefined) => void;
}

/** What the curves run over; undefined, in the URL, is the train clock. */
export function AxisPicker({ axis, epochs, choose }: PickerProps) {
  return (
    <div className={styles.scroll}>
      <SegmentedControl
        size="xs"
        classNames={{ label: styles.pickerLabel }}
        aria-label="Horizontal axis"
        data-testid="axis-picker"
        value={axis}
        data={axesOffered(epochs || axis === "epochs").map((value) => ({ value, label: axisLabel(value) }))}
        onChange={(value) => choose(AXES.find((known) => known === value && known !== "clock"))}
      />
    </div>
  );
}
