import type { ReactNode } from "react";
import type { Role } from "@/lib/client/types.gen";
import { useHint } from "@/lib/ui/use-hint";
import styles from "./allowed.module.css";
import { useRefusal } from "./use-me";

interface AllowedProps {
  least: Role;
  /** The user whose experiment it is, where this user may as well. */
  of?: string;
  /** Whether the role in a project will do; what researchers do is always done in one. */
  inProject?: boolean;
  children: ReactNode;
}

/** Controls that need a role: disabled, with the reason, for others. */
export function Allowed({ least, of, inProject, children }: AllowedProps) {
  return <Unless why={useRefusal(least, of, inProject)}>{children}</Unless>;
}

/** Controls that are disabled where there is a reason. */
export function Unless({ why, children }: { why: string | undefined; children: ReactNode }) {
  return why === undefined ? children : <Refused why={why}>{children}</Refused>;
}

function Refused({ why, children }: { why: string; children: ReactNode }) {
  const [about, note] = useHint<HTMLFieldSetElement>(why, true);
  return (
    <>
      <fieldset {...about} disabled className={styles.refused} aria-label={why} data-testid="refused">
        {children}
      </fieldset>
      {note}
    </>
  );
}
