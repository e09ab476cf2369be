import { Button, Checkbox, Collapse, Group, MultiSelect, NumberInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { listWorkloadsOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { CalibrationRequest } from "@/lib/client/types.gen";
import screen from "@/lib/ui/screen.module.css";
import styles from "./calibration.module.css";

type Asked = Required<Pick<CalibrationRequest, "workloads" | "precisions">> & { workers: number | null };

/** Workloads that one calibration may measure; the service refuses more. */
const MOST_WORKLOADS = 8;
export const USUALLY: Asked = { workloads: ["digits-mlp"], precisions: ["fp32"], workers: null };

/** What a calibration measures, in one sentence. */
export function toldOf({ workloads, precisions, workers }: Asked): string {
  const gradients = workloads.length
    ? `gradients of ${workloads.join(", ")} in ${precisions.join(" and ")}`
    : "no gradients";
  return `${workers ? `${workers} ranks` : "One rank per slot, at most 8"}; ${gradients}.`;
}

/** The next calibration in a sentence, and the fields that change it. */
export function WhatToMeasure({ asked, change }: { asked: Asked; change: (asked: Asked) => void }) {
  const [open, setOpen] = useState(false);
  const fields = useId();
  const workloads = useQuery({ ...listWorkloadsOptions(), enabled: open });
  const names = workloads.data?.items.map(({ name }) => name) ?? [];
  return (
    <div className={styles.asked}>
      <p className={screen.intro} data-testid="calibration-asked">
        {toldOf(asked)}{" "}
        <Button
          variant="subtle"
          size="compact-sm"
          aria-expanded={open}
          aria-controls={fields}
          onClick={() => setOpen(!open)}
        >
          {open ? "Done" : "Change"}
        </Button>
      </p>
      <Collapse expanded={open} id={fields}>
        <Group align="flex-start" gap={16} mt={8}>
          <MultiSelect
            className={styles.workloads}
            label="Workloads"
            description="Their gradients are timed, so that a virtual cluster can simulate them"
            placeholder={asked.workloads.length === 0 ? "None: network and memory only" : undefined}
            data={[...new Set([...names, ...asked.workloads])].sort()}
            value={asked.workloads}
            onChange={(chosen) => change({ ...asked, workloads: chosen })}
            maxValues={MOST_WORKLOADS}
            searchable
            hidePickedOptions
          />
          <Checkbox.Group
            label="Precisions"
            description="At least one"
            value={asked.precisions}
            onChange={(chosen) => {
              const precisions = (["fp32", "bf16"] as const).filter((each) => chosen.includes(each));
              if (precisions.length > 0) change({ ...asked, precisions });
            }}
          >
            <Group gap={14} mih={36}>
              <Checkbox value="fp32" label="fp32" />
              <Checkbox value="bf16" label="bf16" />
            </Group>
          </Checkbox.Group>
          <NumberInput
            label="Ranks"
            description="Empty: one per slot, at most 8"
            min={1}
            max={4096}
            allowDecimal={false}
            clampBehavior="strict"
            value={asked.workers ?? ""}
            onChange={(value) => change({ ...asked, workers: typeof value === "number" ? value : null })}
          />
        </Group>
      </Collapse>
    </div>
  );
}
