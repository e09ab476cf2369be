import { Checkbox } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";
import { Star } from "@/lib/keeping/star";
import { TagLinks } from "@/lib/keeping/tag-links";
import { Allowed } from "@/lib/people/allowed";
import { DEFAULT } from "@/lib/projects/use-projects";
import { predicted, reasonOf } from "@/lib/queue/waiting-note";
import { OriginNote } from "@/lib/ui/origin-note";
import { RunBar } from "@/lib/ui/run-bar";
import { StateBadge } from "@/lib/ui/state-badge";
import { progress } from "@/lib/ui/states";
import { VariantChip } from "@/lib/ui/variant-chip";
import { BestCurve } from "./best-curve";
import styles from "./experiments.module.css";
import { ItemMenu } from "./item-menu";
import type { Action } from "./use-actions";

/** Variants that are named; the others are counted. */
const MOST_VARIANTS = 6;

/** What can be said of the outcome where there is no answer yet. */
function hint({ state, baseline, runs }: ExperimentSummary): string {
  const failed = (runs.failed_user ?? 0) + (runs.failed_infra ?? 0);
  if (failed > 0) return `${failed} run${failed > 1 ? "s" : ""} failed`;
  if (state === "succeeded") return `verdict ready, against ${baseline}`;
  if (state === "cancelled") return "cancelled before its verdict";
  return `baseline ${baseline}`;
}

interface ItemProps {
  item: ExperimentSummary;
  now: number;
  chosen: boolean;
  choose: (chosen: boolean) => void;
  act: (action: Action) => void;
  edit: () => void;
  /** Where not all items are drawn: which one this is, and what measures it. */
  place?: ComponentProps<"li">;
}

/** One experiment of the list: its answer, its progress, and what can be done with it. */
export function ExperimentItem({ item, now, chosen, choose, act, edit, place }: ItemProps) {
  const { done, all } = progress(item.runs);
  const [answer, ...others] = item.headlines;
  return (
    <li
      {...place}
      className={styles.item}
      data-testid="experiment-item"
      data-id={item.id}
      data-chosen={chosen}
    >
      <div className={styles.marks}>
        <Checkbox
          aria-label={`Select ${item.name}`}
          checked={chosen}
          onChange={(event) => choose(event.currentTarget.checked)}
          size="md"
        />
        <Allowed least="researcher" of={item.user}>
          <Star name={item.name} starred={item.starred} act={() => act(item.starred ? "unstar" : "star")} />
        </Allowed>
      </div>
      <div className={styles.main}>
        <Link to="/experiments/$experimentId" params={{ experimentId: item.id }} className={styles.name}>
          {item.name}
        </Link>
        {answer && (
          <div className={styles.answer} data-testid="answer" title={item.headlines.join("\n")}>
            {answer}
            {others.length > 0 && <span className={styles.more}> and {others.length} more</span>}
          </div>
        )}
        <div className={styles.chips}>
          {item.variants.slice(0, MOST_VARIANTS).map((name, index) => (
            <VariantChip key={name} name={name} index={index} />
          ))}
          {item.variants.length > MOST_VARIANTS && (
            <span className={styles.more}>and {item.variants.length - MOST_VARIANTS} more</span>
          )}
        </div>
        <div className={styles.facts}>
          <span>#{item.number}</span>
          <span>{item.workload}</span>
          <span>{item.clusters.join(", ")}</span>
          {!answer && <span>{hint(item)}</span>}
          <time dateTime={item.created_at} title={formatMoment(item.created_at)}>
            {formatAge(item.created_at, now)}
          </time>
          {item.project !== DEFAULT && <span title="Its project">{item.project}</span>}
          <OriginNote origin={item.origin} />
          {item.archived && <span>archived</span>}
          {item.protected && <span>protected</span>}
        </div>
        {item.note_line && <p className={styles.noteLine}>{item.note_line}</p>}
        {item.tags.length > 0 && (
          <div className={styles.tags}>
            <TagLinks tags={item.tags} />
          </div>
        )}
        {item.waiting.map((each) => (
          <div key={each.cluster} className={styles.facts} data-testid="item-waiting">
            <span>
              {each.runs} {each.runs === 1 ? "run waits" : "runs wait"} on {each.cluster}: {reasonOf(each)}
            </span>
            <span>{predicted(each, now)}</span>
          </div>
        ))}
      </div>
      <BestCurve curve={item.curve} index={item.variants.indexOf(item.curve?.variant ?? "")} />
      <div className={styles.progress}>
        <StateBadge state={item.state} />
        <span className={styles.count}>
          {done} / {all} runs
        </span>
        <RunBar runs={item.runs} />
      </div>
      <div className={styles.menu}>
        <Allowed least="researcher" of={item.user}>
          <ItemMenu item={item} act={act} edit={edit} />
        </Allowed>
      </div>
    </li>
  );
}
