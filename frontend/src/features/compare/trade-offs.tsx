import { NativeSelect } from "@mantine/core";
import { FrontChart, type FrontPoint } from "@/lib/charts/front-chart";
import type { ComparedRow, ComparedRows } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { Section } from "@/lib/ui/section";
import ui from "@/lib/ui/ui.module.css";
import styles from "./compare.module.css";
import { axisTitle, FIGURES, type FigureOf, figure, type Spread } from "./figures";
import { colorsOf, groupsOf, namesOf, taskOf } from "./names";
import { front, type Placed, place } from "./pareto";
import type { CompareSearch, FigureKey } from "./search";
import { keyOf } from "./selection";

interface TradeOffsProps {
  compared: ComparedRows;
  of: FigureKey | undefined;
  over: FigureKey | undefined;
  change: (next: Partial<CompareSearch>) => void;
}

/** One figure against another, with the rows that no other one beats in both: a chart for each task and kind of time. */
export function TradeOffs({ compared, of, over, change }: TradeOffsProps) {
  const timed = compared.rows.some((row) => figure("time").of(row) !== null);
  const xs = figure(over ?? (timed ? "time" : "samples"));
  const ys = figure(of ?? "best");
  const groups = groupsOf(compared.rows);
  return (
    <Section
      title="Trade-offs"
      testId="trade-offs"
      aside={
        <span className={styles.axes}>
          <AxisSelect label="Vertical axis" value={ys.key} choose={(key) => change({ of: key })} />
          against
          <AxisSelect label="Horizontal axis" value={xs.key} choose={(key) => change({ over: key })} />
        </span>
      }
    >
      {groups.map(([key, rows]) => (
        <Group key={key} compared={compared} rows={rows} x={xs} y={ys} several={groups.length > 1} />
      ))}
      <p className={styles.note}>
        Filled and joined (Pareto front): no other row is better in one figure and at least as good in the
        other, by medians and means. Lines are 95% intervals over seeds; for times, the range over seeds. Rows
        whose lines overlap are not distinguished.
      </p>
    </Section>
  );
}

function AxisSelect(props: { label: string; value: FigureKey; choose: (key: FigureKey) => void }) {
  return (
    <NativeSelect
      size="xs"
      aria-label={props.label}
      data={FIGURES.map(({ key, title }) => ({ value: key, label: title }))}
      value={props.value}
      onChange={(event) => {
        const found = FIGURES.find(({ key }) => key === event.currentTarget.value);
        if (found) props.choose(found.key);
      }}
    />
  );
}

interface GroupProps {
  compared: ComparedRows;
  rows: readonly ComparedRow[];
  x: FigureOf;
  y: FigureOf;
  several: boolean;
}

function Group({ compared, rows, x, y, several }: GroupProps) {
  const names = namesOf(rows);
  const color = colorsOf(compared.experiments);
  const { placed, lacking } = place(rows, x, y);
  const best = front(placed, x, y);
  const ordered = [...best, ...placed.filter((one) => !best.includes(one))];
  const simulated = rows[0]?.simulated ?? false;
  const task = taskOf(compared, rows);
  const points = ordered.map((one): FrontPoint => {
    const name = names[one.at] ?? one.row.variant;
    return {
      key: keyOf(one.row),
      name,
      x: one.x,
      y: one.y,
      color: variantStyle(color(one.row.variant)).color,
      isOnFront: best.includes(one),
      words: `${name}: ${y.title.toLowerCase()} ${words(y, one.y)}, ${x.title.toLowerCase()} ${words(x, one.x)}`,
    };
  });
  const titles = { x: axisTitle(x, simulated), y: axisTitle(y, simulated) };
  return (
    <div className={styles.kind}>
      {points.length > 0 && (
        <FrontChart
          testId="front"
          title={several ? task : ""}
          name={`${titles.y} against ${titles.x}, ${task}`}
          sheet={() => ({
            head: ["Row", titles.x, titles.y, "On the front"],
            rows: ordered.map((one) => [
              names[one.at] ?? one.row.variant,
              words(x, one.x),
              words(y, one.y),
              best.includes(one) ? "yes" : "no",
            ]),
          })}
          label={`${titles.y} against ${titles.x}, ${task}: ${points.length} rows, of which ${best.length} are on the front. The table after it has the figures.`}
          points={points}
          xTitle={titles.x}
          yTitle={titles.y}
          tickX={x.tick}
          tickY={y.tick}
          limitX={x.limit}
          limitY={y.limit}
        />
      )}
      {points.length > 0 && <Behind placed={ordered} best={best} names={names} x={x} y={y} titles={titles} />}
      {lacking.length > 0 && (
        <p className={styles.note} data-testid="lacking">
          Not drawn{several && `, ${task}`}: {lacking.map((at) => names[at]).join(", ")}, without{" "}
          {[x, y]
            .filter(({ of }) => lacking.some((at) => rows[at] && of(rows[at]) === null))
            .map(({ title }) => title.toLowerCase())
            .join(" or ")}
          .
        </p>
      )}
    </div>
  );
}

function words({ format }: FigureOf, { value, low, high }: Spread): string {
  return low === null || high === null
    ? format(value)
    : `${format(value)} (${format(low)} to ${format(high)})`;
}

interface BehindProps {
  placed: readonly Placed[];
  best: readonly Placed[];
  names: readonly string[];
  x: FigureOf;
  y: FigureOf;
  titles: { x: string; y: string };
}

/** What the chart shows, for those who do not see it. */
function Behind({ placed, best, names, x, y, titles }: BehindProps) {
  return (
    <div className={ui.unseen}>
      <table data-testid="front-table">
        <caption>
          {titles.y} against {titles.x}
        </caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            <th scope="col">{titles.x}</th>
            <th scope="col">{titles.y}</th>
            <th scope="col">On the front</th>
          </tr>
        </thead>
        <tbody>
          {placed.map((one) => (
            <tr key={keyOf(one.row)}>
              <th scope="row">{names[one.at]}</th>
              <td>{words(x, one.x)}</td>
              <td>{words(y, one.y)}</td>
              <td>{best.includes(one) ? "yes" : "no"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
