import { Link } from "@tanstack/react-router";
import { memo } from "react";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { isolated } from "@/lib/format/isolated";
import { formatAge, formatMoment } from "@/lib/format/time";
import { Star } from "@/lib/keeping/star";
import { TagLinks } from "@/lib/keeping/tag-links";
import { Unless } from "@/lib/people/allowed";
import { DEFAULT } from "@/lib/projects/use-projects";
import { predicted, reasonOf } from "@/lib/queue/waiting-note";
import { colorOf } from "@/lib/theme/palette";
import { OriginNote } from "@/lib/ui/origin-note";
import { RunBar } from "@/lib/ui/run-bar";
import { StateBadge } from "@/lib/ui/state-badge";
import { progress } from "@/lib/ui/states";
import { VariantChip } from "@/lib/ui/variant-chip";
import { BestCurve } from "./best-curve";
import { type Shown, TEXTS, textOf } from "./columns";
import styles from "./experiments.module.css";
import { ItemMenu } from "./item-menu";
import type { Action } from "./use-actions";

/** Variants that are named; the others are counted. */
const MOST_VARIANTS = 6;

const failures = ({ runs }: ExperimentSummary) => (runs.failed_user ?? 0) + (runs.failed_infra ?? 0);
const late = ({ runs }: ExperimentSummary) => runs.timed_out ?? 0;
const count = (runs: number) => `${runs} ${runs === 1 ? "run" : "runs"}`;

/** What can be said of the outcome where there is no answer yet, and beside an answer if runs have failed. */
function hint(item: ExperimentSummary): string {
  const { state, baseline } = item;
  const failed = failures(item);
  if (failed > 0) return `${count(failed)} failed`;
  if (late(item) > 0) return `${count(late(item))} timed out`;
  if (state === "succeeded") return `verdict ready, against ${baseline}`;
  if (state === "cancelled") return "cancelled before its verdict";
  return `baseline ${baseline}`;
}

/** What the rows of a list have in common, and what they do. */
export interface RowProps {
  shown: Shown;
  now: number;
  /** `through`: with those between it and the one that was pressed before. */
  choose: (item: ExperimentSummary, chosen: boolean, through: boolean) => void;
  act: (action: Action, item: ExperimentSummary) => void;
  edit: (id: string) => void;
}

/** Where not all items are drawn: which one this is, how many are known (-1: not all), and what measures it. */
export interface Place {
  index: number;
  of: number;
  gap: number;
  measure: ((row: Element | null) => void) | undefined;
}

interface ItemProps extends RowProps, Partial<Place> {
  item: ExperimentSummary;
  chosen: boolean;
  /** Why the user may not change it; undefined: they may. */
  refused: string | undefined;
}

/** One experiment of the list: its answer, its progress, and what can be done with it. Drawn again if it changes. */
export const ExperimentItem = memo(function ExperimentItem(props: ItemProps) {
  const { item, now, shown, chosen, refused, choose, act, edit, index, of, gap, measure } = props;
  const { done, all } = progress(item.runs);
  const [answer, ...others] = item.headlines;
  return (
    <li
      ref={measure}
      data-index={index}
      aria-posinset={index === undefined ? undefined : index + 1}
      aria-setsize={of}
      style={gap ? { marginTop: gap } : undefined}
      className={styles.item}
      data-testid="experiment-item"
      data-id={item.id}
      data-chosen={chosen}
    >
      <div className={styles.marks}>
        <input
          type="checkbox"
          className={styles.check}
          aria-label={`Select ${item.name}`}
          checked={chosen}
          onChange={({ currentTarget, nativeEvent }) =>
            choose(item, currentTarget.checked, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
          }
        />
        <Unless why={refused}>
          <Star
            name={item.name}
            starred={item.starred}
            act={() => act(item.starred ? "unstar" : "star", item)}
          />
        </Unless>
      </div>
      <div className={styles.main}>
        <Link to="/experiments/$experimentId" params={{ experimentId: item.id }} className={styles.name}>
          <bdi>{item.name}</bdi>
        </Link>
        {answer && shown.has("verdict") && (
          <div
            className={styles.answer}
            data-testid="answer"
            title={isolated(item.headlines.join("\n"), item.variants)}
          >
            {isolated(answer, item.variants)}
            {others.length > 0 && <span className={styles.more}> and {others.length} more</span>}
          </div>
        )}
        {shown.has("variants") && <Variants item={item} />}
        <div className={styles.facts}>
          <span>#{item.number}</span>
          <span>{item.workload}</span>
          <span>{item.clusters.join(", ")}</span>
          {(!answer || failures(item) + late(item) > 0) && <span>{hint(item)}</span>}
          <time dateTime={item.created_at} title={formatMoment(item.created_at)}>
            {formatAge(item.created_at, now)}
          </time>
          {item.project !== DEFAULT && !shown.has("project") && <span title="Project">{item.project}</span>}
          <OriginNote origin={item.origin} />
          {item.archived && <span>archived</span>}
          {item.protected && <span>protected</span>}
        </div>
        {item.note_line && <p className={styles.noteLine}>{item.note_line}</p>}
        {item.tags.length > 0 && (
          <div className={styles.tags}>
            <TagLinks tags={item.tags} listed />
          </div>
        )}
        {item.waiting.map((each) => (
          <div key={each.cluster} className={styles.facts} data-testid="item-waiting">
            <span>
              {each.runs} {each.runs === 1 ? "run waits" : "runs wait"} on {each.cluster}:{" "}
              {reasonOf(each, now)}
            </span>
            <span>{predicted(each, now)}</span>
          </div>
        ))}
      </div>
      <Texts item={item} shown={shown} now={now} />
      {shown.has("curve") && (
        <BestCurve curve={item.curve} index={colorOf(item, item.curve?.variant ?? "")} />
      )}
      {(shown.has("state") || shown.has("progress")) && (
        <div className={styles.progress}>
          {shown.has("state") && <StateBadge state={item.state} cancelling={item.cancelling} />}
          {shown.has("progress") && (
            <>
              <span className={styles.count}>
                {done} / {all} runs
              </span>
              <RunBar runs={item.runs} />
            </>
          )}
        </div>
      )}
      <div className={styles.menu}>
        <Unless why={refused}>
          <ItemMenu item={item} act={act} edit={edit} />
        </Unless>
      </div>
    </li>
  );
});

function Variants({ item }: Pick<ItemProps, "item">) {
  const names = item.variants;
  return (
    <div className={styles.chips}>
      {names.slice(0, MOST_VARIANTS).map((name) => (
        <VariantChip key={name} name={name} index={colorOf(item, name)} />
      ))}
      {names.length > MOST_VARIANTS && (
        <span className={styles.more}>and {names.length - MOST_VARIANTS} more</span>
      )}
    </div>
  );
}

/** The columns that are a short text, each with its name for those who do not see the row above the list. */
function Texts({ item, shown, now }: Pick<ItemProps, "item" | "shown" | "now">) {
  const keys = TEXTS.filter((key) => shown.has(key));
  if (keys.length === 0) return null;
  return (
    <div className={styles.texts}>
      {keys.map((key) => {
        const { title, text, more } = textOf(key, item, now);
        return (
          <div key={key} className={styles.text} title={more} data-column={key}>
            <span className={styles.textName}>{title}</span>
            {text}
          </div>
        );
      })}
    </div>
  );
}
