import { NativeSelect } from "@mantine/core";
import { PRESETS } from "@/lib/format/networks";
import { formatBytes, formatNumber } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import screen from "@/lib/ui/screen.module.css";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./algorithms.module.css";
import { Typeset } from "./equations";
import type { Price } from "./figures";

/** Bytes of the weights of LeNet, on which the claims are evaluated. */
const LENET = 4 * 431_080;
/** Numbers of the table, as wide as the column needs. */
const COLUMNS = ["Workers", "Payload of a worker", "Sent by all", "Messages of all", "Time of the messages"];

interface CostProps {
  algorithm: string;
  /** The sentence of the docstring; empty: it has none. */
  sentence: string;
  prices: Readonly<Record<string, Price>> | null | undefined;
  /** The key of the network that was chosen. */
  network: string | undefined;
  choose: (network: string) => void;
}

/** What a step moves: as the docstring says it, and in numbers for a network. */
export function CostPart({ algorithm, sentence, prices, network: key, choose }: CostProps) {
  const network = PRESETS.find((one) => one.key === key) ?? PRESETS[0];
  const rows = Object.entries(prices ?? {});
  const silent = rows.length > 0 && rows.every(([, price]) => price.messages === 0);
  return (
    <>
      {sentence && (
        <p className={styles.cost}>
          <Typeset text={sentence} />
        </p>
      )}
      {rows.length === 0 && (
        <p className={screen.intro}>This algorithm does not declare what it exchanges.</p>
      )}
      {silent && <p className={screen.intro}>This algorithm sends nothing.</p>}
      {rows.length > 0 && !silent && (
        <>
          <p className={screen.intro}>
            Per local step, mean of many, with the default parameters and the weights of LeNet (
            {formatBytes(LENET)}): computed from what the algorithm declares and tests verify, not measured.
            On this network a message takes {formatSeconds(network.latency)}, and{" "}
            {formatNumber(network.seconds_per_byte * 1e9)} ns for each byte.{" "}
            {hidingOf(rows.map(([, price]) => price))}
          </p>
          <NativeSelect
            className={styles.choice}
            size="xs"
            label="Network"
            data={PRESETS.map(({ key: value, label }) => ({ value, label }))}
            value={network.key}
            onChange={(event) => choose(event.currentTarget.value)}
          />
          <TableRegion label={`Cost of ${algorithm}`}>
            <table className={`${ui.table} ${ui.sticky}`} data-testid="cost">
              <thead>
                <tr>
                  {COLUMNS.map((title) => (
                    <th key={title} data-number scope="col" className={ui.number}>
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map(([workers, price]) => (
                  <tr key={workers}>
                    {cellsOf(workers, price, network).map((cell, i) => (
                      <td key={COLUMNS[i]} className={ui.number}>
                        {cell}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </TableRegion>
        </>
      )}
    </>
  );
}

type Network = (typeof PRESETS)[number];

function cellsOf(workers: string, price: Price, { latency, seconds_per_byte }: Network): string[] {
  return [
    workers,
    formatBytes(price.payload * LENET),
    formatBytes(price.wire * LENET),
    formatNumber(price.messages),
    formatSeconds(price.latencies * latency + price.volumes * LENET * seconds_per_byte),
  ];
}

/** What the time of the messages does not say: which part of it passes while workers compute. */
function hidingOf(prices: readonly Price[]): string {
  const behind = new Set(prices.flatMap((price) => price.behind));
  const some = behind.delete("nothing") ? "A part of it" : "It";
  if (behind.size === 0) return "Workers wait for all of it.";
  const words = [...behind].map((each) =>
    each === "gradient"
      ? "the gradient"
      : each === "period"
        ? "the steps up to the next exchange"
        : steps(each),
  );
  return `${some} overlaps ${words.join(" or ")}; workers wait for whichever takes longer.`;
}

function steps(count: string): string {
  return count === "1" ? "the next step" : `the next ${count} steps`;
}
