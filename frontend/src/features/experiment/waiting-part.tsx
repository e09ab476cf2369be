import type { ExperimentView } from "@/lib/client/types.gen";
import { Allowed } from "@/lib/people/allowed";
import { PriorityControl } from "@/lib/queue/priority-control";
import { WaitingNotes } from "@/lib/queue/waiting-note";
import styles from "./waiting-part.module.css";

/** Why runs of an experiment wait and until when; its priority may be changed meanwhile. */
export function WaitingPart({ experiment }: { experiment: ExperimentView }) {
  if (experiment.waiting.length === 0) return null;
  return (
    <div className={styles.part}>
      <WaitingNotes waiting={experiment.waiting} />
      <div className={styles.priority}>
        <span>Priority</span>
        <Allowed least="researcher" of={experiment.user}>
          <PriorityControl experiment={experiment.id} priority={experiment.priority} />
        </Allowed>
      </div>
    </div>
  );
}
