import { useEffect } from "react";
import type { Proposal } from "./completion";
import styles from "./filter-field.module.css";

interface FilterProposalsProps {
  id: string;
  proposals: readonly Proposal[];
  current: Proposal | undefined;
  take: (proposal: Proposal) => void;
}

/** What may follow. The focus stays in the field, whose keys move through it. */
export function FilterProposals({ id, proposals, current, take }: FilterProposalsProps) {
  const currentId = current && optionId(id, current);
  useEffect(() => {
    if (currentId) document.getElementById(currentId)?.scrollIntoView({ block: "nearest" });
  }, [currentId]);
  return (
    <div id={id} role="listbox" aria-label="Suggestions" className={styles.proposals}>
      {proposals.map((proposal) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
        // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the current option
        <div
          key={proposal.text}
          id={optionId(id, proposal)}
          role="option"
          aria-selected={proposal === current}
          className={styles.proposal}
          onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
          onClick={() => take(proposal)}
        >
          <code>{proposal.text}</code>
          <span>{proposal.note}</span>
        </div>
      ))}
    </div>
  );
}

/** Texts of proposals differ, and may hold what no id may. */
export function optionId(list: string, { text }: Proposal): string {
  return `${list}${encodeURIComponent(text)}`;
}
