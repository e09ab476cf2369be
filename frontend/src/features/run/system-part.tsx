import { Text } from "@mantine/core";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import type { EnergyView, RunView, SystemView } from "@/lib/client/types.gen";
import { formatJoules } from "@/lib/format/energy";
import { formatBytes, formatNumber, formatPercent, formatPercentTick } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { Section } from "@/lib/ui/section";
import { StyleLine } from "@/lib/ui/variant-chip";
import { hostSeries, processSeries } from "./system-series";
import styles from "./timeline.module.css";
import { useSystem } from "./use-timeline";

const rate = (value: number) => `${formatBytes(value)}/s`;

/** What the run's processes and their host used. `index`: of its variant, for its colour. */
export function SystemPart({ run, index }: { run: RunView; index: number }) {
  const { data } = useSystem(run);
  if (!data || data.at.length < 2) return null;
  const host = (...figures: Parameters<typeof hostSeries>[1]) => hostSeries(data, figures, index);
  return (
    <Section title="System" testId="system">
      <div className={styles.system}>
        <Chart
          title="Processors in use"
          series={processSeries(data, "cpu", index)}
          format={(value) => `${formatNumber(value)} processors`}
          tick={(value) => formatNumber(value)}
        />
        <Chart title="Resident memory" series={processSeries(data, "memory", index)} format={formatBytes} />
        <Chart
          title="Network of the host"
          series={host({ name: "received", label: "received" }, { name: "sent", label: "sent" })}
          format={rate}
        />
        <Chart
          title="Power of the processors"
          series={host({ name: "power", label: "packages and memory" })}
          format={(value) => `${formatNumber(value)} W`}
        />
        <Chart
          title="GPU in use"
          series={host({ name: "gpu", label: "mean of all GPUs" })}
          format={(value) => formatPercent(value)}
          tick={formatPercentTick}
        />
        <Chart
          title="Memory of the GPUs"
          series={host({ name: "gpu_memory", label: "GPUs that ranks use" })}
          format={formatBytes}
        />
        <Chart
          title="Power of the GPUs"
          series={host({ name: "gpu_power", label: "GPUs that ranks use" })}
          format={(value) => `${formatNumber(value)} W`}
        />
      </div>
      {data.energy && (
        <Text fz={12.5} c="dimmed" mt={8} data-testid="energy">
          {energyWords(data.energy)}
        </Text>
      )}
      <Text fz={12.5} c="dimmed" mt={8}>
        {systemWords(data)}
      </Text>
    </Section>
  );
}

/** The energy, with what it is of, or why it is not known. */
export function energyWords({ joules, seconds, note }: EnergyView): string {
  if (joules === null) return `Energy: ${note}.`;
  const power = seconds !== null && seconds > 0 ? `, ${formatNumber(joules / seconds)} W on average` : "";
  return `Energy: ${formatJoules(joules)} in ${formatSeconds(seconds)}${power}: of the processors and the memory of the whole machine${note.startsWith("its GPUs") ? " and of the GPUs that its ranks used" : ""}, not of the run alone${note && `; ${note}`}.`;
}

/** What was sampled, and what was not. */
export function systemWords(view: SystemView): string {
  const what = view.simulated
    ? "Of the process that simulates all ranks"
    : `Of the ranks on ${view.host?.host ?? "this host"}; network and power are those of the whole host`;
  const { elsewhere } = view;
  const others =
    elsewhere.length === 0
      ? ""
      : ` ${elsewhere.length === 1 ? "Rank" : "Ranks"} ${elsewhere.slice(0, 10).join(", ")}${
          elsewhere.length > 10 ? " and others" : ""
        } ran on other hosts and ${elsewhere.length === 1 ? "was" : "were"} not sampled.`;
  return `${what}, sampled by its supervisor, in seconds of the wall clock.${others}`;
}

interface ChartProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  readonly tick?: (value: number) => string;
}

function Chart({ title, series, format, tick = format }: ChartProps) {
  if (series.length === 0) return null;
  return (
    <div>
      <LineChart
        title={title}
        testId={`system-${title.toLowerCase().replaceAll(" ", "-")}`}
        height={170}
        series={series}
        xTitle="Time since the first sample (s)"
        formatX={formatSeconds}
        tickX={(value) => formatNumber(value)}
        formatY={format}
        tickY={tick}
        sync="system"
      />
      <ul className={styles.curves} aria-label={`Curves of ${title}`}>
        {series.map((one) => (
          <li key={one.label}>
            <StyleLine style={one.style} />
            {one.label}
          </li>
        ))}
      </ul>
    </div>
  );
}
