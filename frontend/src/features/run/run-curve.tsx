import type { ReactNode } from "react";
import type { ChartAxis, Metric } from "@/lib/api/types";
import { chartLook, OF_STEPS } from "@/lib/charts/chart-look";
import { drawnAxis, inEpochs } from "@/lib/charts/epochs";
import { LineChart } from "@/lib/charts/line-chart";
import { metAt } from "@/lib/charts/met-at";
import { smoothed } from "@/lib/charts/smooth";
import type { Zoom } from "@/lib/charts/zoom";
import type { FurtherMetricView, RunView, SeriesAnswer, Target } from "@/lib/client/types.gen";
import { axisTitle, formatAxisTick, formatAxisValue } from "@/lib/format/axes";
import { formatCount } from "@/lib/format/numbers";
import { variantStyle } from "@/lib/theme/palette";
import { isTerminal } from "@/lib/ui/states";

/** What is the same for every curve of a run. */
export interface RunCurveLook {
  run: RunView;
  /** Of its variant, for its colour. */
  index: number;
  target: Target | undefined;
  /** The number of training items, if it is known. */
  items: number | undefined;
  log: boolean;
  logX: boolean;
  /** Undefined: as measured. */
  smooth: number | undefined;
}

interface RunCurveProps extends RunCurveLook {
  metric: Metric;
  /** Of a further metric. */
  declared?: FurtherMetricView;
  /** In place of the title: what chooses it. */
  head?: ReactNode;
  /** What was asked for; an answer before may be over another axis. */
  over: ChartAxis;
  answer: SeriesAnswer | undefined;
  zoom?: Zoom;
  /** Without it, the chart keeps its own zoom. */
  onZoom?: (zoom: Zoom | undefined) => void;
}

/** One metric of a run. */
export function RunCurve(props: RunCurveProps) {
  const { metric, answer, run, index, target, items } = props;
  const axis = drawnAxis(props.over, answer?.axis ?? "clock", items);
  const series = (answer?.series ?? [])
    .filter((one) => one.metric === metric && one.x.length > 0)
    .map((one) => (axis === "epochs" && items ? { ...one, x: inEpochs(one.x, items) } : one));
  const { title, share, format, tick } = chartLook(metric, props.declared);
  const [kept] = series;
  const steps = OF_STEPS.includes(metric);
  const style = variantStyle(index);
  const meets = target && (target.metric ?? "validation_accuracy") === metric;
  const time = run.time_to_target;
  const elsewhere = meets && time !== null && kept ? metAt(target, kept.x, kept.y) : undefined;
  const met = axis === "clock" ? time : elsewhere;
  return (
    <LineChart
      title={title}
      head={props.head}
      testId={`chart-${metric}`}
      height={240}
      empty={isTerminal(run.state) ? "No points: the run ended before the first" : undefined}
      note={kept && `${formatCount(kept.n)} of ${formatCount(kept.of)} points`}
      series={series.flatMap(({ x, y }) => {
        const measured = { label: title, style, x, y };
        return props.smooth ? smoothed(measured, props.smooth) : [measured];
      })}
      log={props.log && !share}
      logX={props.logX}
      xTitle={axisTitle(axis, run.simulated)}
      formatX={(value) => formatAxisValue(axis, value)}
      tickX={(value) => formatAxisTick(axis, value)}
      formatY={format}
      tickY={tick}
      clamp={share ? [0, 1] : undefined}
      crossings={meets && met !== undefined && met !== null ? [{ x: met, style }] : []}
      evaluations={steps ? [] : series.map(({ x }) => ({ x, style }))}
      sync={`run over ${axis}`}
      zoom={props.zoom}
      onZoom={props.onZoom}
      target={meets ? { value: target.value, label: "target" } : undefined}
    />
  );
}
