import { Group as Row, Skeleton, Switch, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import { PhaseBar, PhaseKey } from "@/lib/charts/phase-bar";
import type { ExperimentView } from "@/lib/client/types.gen";
import { phasesSvg } from "@/lib/export/phases-svg";
import { formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { colorOf, phasesIn } from "@/lib/theme/palette";
import { Section } from "@/lib/ui/section";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";
import { type Group, groupLabel } from "./groups";
import { PhasesOverTime } from "./phases-over-time";
import { phasesSheet } from "./verdict-sheets";

const route = getRouteApi("/experiments/$experimentId");

const TITLE = "Where the time went";

/** Seconds below which a difference of two virtual clocks is rounding. */
const NOTHING = 1e-7;

/** What ran behind compute; nothing is said before it is known. */
function hiddenWords(seconds: number | null): string {
  if (seconds === null) return "\u00a0";
  return seconds > NOTHING ? `plus ${formatSeconds(seconds)} hidden` : "none hidden";
}

/** The communication fraction, a mean over runs that have finished. */
function Fraction({ mean }: { mean: number | null }) {
  if (mean === null) return <span className={styles.quiet}>no finished run</span>;
  return (
    <>
      <strong>{formatPercent(mean)}</strong> communication
    </>
  );
}

/** Where the workers' wall time went, per variant, in all or over time, and the communication fraction beside it. */
export function Phases({ experiment, group }: { experiment: ExperimentView; group: Group | undefined }) {
  const time = route.useSearch({ select: (search) => search.phases === "time" });
  const navigate = route.useNavigate();
  return (
    <Section
      title={TITLE}
      testId="phases"
      aside={
        <Row gap="6px 16px">
          {group && (
            <span className={styles.aside}>
              {groupLabel(group)} {group.simulated && <Tag kind="simulated" />}
              {group.oversubscribed && <Tag kind="oversubscribed" />}
            </span>
          )}
          <Switch
            size="xs"
            label="Over time"
            data-testid="phases-over-time"
            checked={time}
            onChange={({ currentTarget: { checked } }) =>
              navigate({
                search: (old) => ({ ...old, phases: checked ? "time" : undefined }),
                resetScroll: false,
              })
            }
          />
        </Row>
      }
    >
      {time && group ? (
        <PhasesOverTime experiment={experiment} group={group} />
      ) : (
        <Sums experiment={experiment} group={group} />
      )}
    </Section>
  );
}

function pictureOf(group: Group) {
  const bars = group.rows.map(({ variant, phases, communication_fraction: { mean } }) => ({
    name: variant,
    words: `${formatPercent(mean)} communication`,
    shares: phases,
  }));
  return phasesSvg(bars, `${TITLE}: ${groupLabel(group)}${group.simulated ? " (simulated)" : ""}`);
}

function Sums({ experiment, group }: { experiment: ExperimentView; group: Group | undefined }) {
  return (
    <>
      <Row justify="space-between" align="start" wrap="nowrap" mih={24}>
        <PhaseKey phases={phasesIn((group?.rows ?? []).map(({ phases }) => phases))} />
        {group && <DrawingMenu of={TITLE} host={() => pictureOf(group)} sheet={() => phasesSheet(group)} />}
      </Row>
      <div className={styles.phases}>
        {!group && <Skeleton height={experiment.variants.length * 50 - 10} />}
        {group?.rows.map((row) => (
          <div
            key={row.variant}
            className={styles.phaseRow}
            data-testid="phase-row"
            data-variant={row.variant}
          >
            <VariantChip name={row.variant} index={colorOf(experiment, row.variant)} />
            <PhaseBar shares={row.phases} label={row.variant} />
            <span className={styles.phaseFigure}>
              <Fraction mean={row.communication_fraction.mean} />
              <span className={ui.range}>{hiddenWords(row.hidden.mean)}</span>
            </span>
          </div>
        ))}
      </div>
      <Text fz={12.5} c="dimmed" maw="92ch" mt={16}>
        Shares of wall time, mean over workers and seeds. The communication fraction is the time blocked in
        communication, divided by wall time without evaluation. Communication that overlaps compute is hidden.
      </Text>
    </>
  );
}
