import { ActionIcon, Button, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef, useState } from "react";
import { explain, statusOf } from "@/lib/api/problem";
import { readExperimentOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView } from "@/lib/client/types.gen";
import { isolatedParts } from "@/lib/format/right-to-left";
import { useChange } from "@/lib/keeping/use-change";
import { Allowed } from "@/lib/people/allowed";
import { useRefusal } from "@/lib/people/use-me";
import { isComposing, useLineBreak } from "@/lib/ui/composing";
import ui from "@/lib/ui/ui.module.css";
import styles from "./experiment.module.css";

const route = getRouteApi("/experiments/$experimentId");
/** As long as the server takes them. */
const LONGEST = 120;

/** What the experiment is called, as the title of its page; those who may change it do so in its place. */
export function Name({ experiment }: { experiment: ExperimentView }) {
  const [wanted, setEditing] = useState(false);
  const editing = useRefusal("researcher", experiment.user) === undefined && wanted;
  const pencil = useRef<HTMLButtonElement>(null);
  const asked = useLocation({ select: ({ hash }) => hash === "rename" }); // by the command palette
  const navigate = route.useNavigate();
  useEffect(() => {
    if (!asked) return;
    setEditing(true);
    void navigate({ hash: "", search: true, replace: true, resetScroll: false });
  }, [asked, navigate]);
  return (
    <div className={styles.name}>
      <h1 className={styles.title} data-behind={editing || undefined} data-testid="experiment-name">
        <bdi>{experiment.name}</bdi>
      </h1>
      <Allowed least="researcher" of={experiment.user}>
        {editing ? (
          <NameField
            experiment={experiment}
            onClose={() => {
              setEditing(false);
              focusLater(pencil);
            }}
          />
        ) : (
          <ActionIcon
            ref={pencil}
            className={styles.pencil}
            size={24}
            variant="subtle"
            color="gray"
            aria-label="Rename this experiment"
            title="Rename"
            onClick={() => setEditing(true)}
            data-testid="rename"
          >
            <svg
              width={15}
              height={15}
              viewBox="0 0 16 16"
              fill="none"
              stroke="currentColor"
              aria-hidden="true"
            >
              <path d="M2.5 13.5 3.2 10.4 11 2.6l2.4 2.4-7.8 7.8-3.1.7ZM9.4 4.2l2.4 2.4" strokeWidth="1.3" />
            </svg>
          </ActionIcon>
        )}
      </Allowed>
    </div>
  );
}

/** The button is there again when the page has been drawn. */
const focusLater = (button: RefObject<HTMLButtonElement | null>) =>
  requestAnimationFrame(() => button.current?.focus());

/**
 * In the place of the title, over what is around it, so that nothing moves. Enter saves, Escape leaves the name as it was. While a name is on its way to the server, nothing takes it back: the field says so,
 * and Escape counts if the server refuses it. A name that somebody else has given meanwhile is not replaced unasked.
 */
function NameField({ experiment, onClose }: { experiment: ExperimentView; onClose: () => void }) {
  const [before, setBefore] = useState(experiment);
  const [typed, setTyped] = useState(experiment.name);
  const [fault, setFault] = useState<string>();
  /** It was refused, and is compared with what others have changed. */
  const [comparing, setComparing] = useState(false);
  const [tooLate, setTooLate] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const enter = () => field.current?.form?.requestSubmit(); // a name has no lines
  useLineBreak(field, enter);
  const left = useRef(false);
  const keep = useRef(false);
  const client = useQueryClient();
  const change = useChange();
  const name = typed.trim();
  const sent = change.isPending;
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
    left.current = false;
    return () => {
      left.current = true;
    };
  }, []);
  const leave = () => {
    keep.current = true;
    if (sent) setTooLate(true);
    else onClose();
  };
  const latest = () =>
    client.fetchQuery({ ...readExperimentOptions({ path: { experiment_id: before.id } }), staleTime: 0 });
  const refused = (error: unknown) => {
    if (keep.current) return onClose();
    setComparing(false);
    setFault(`It could not be renamed. ${explain(error)}`);
  };
  const save = (of: ExperimentView, again = true) => {
    setFault(undefined);
    change.mutate(
      {
        path: { experiment_id: of.id },
        headers: { "If-Match": `"${of.revision}"` },
        body: { name },
      },
      {
        onSuccess: onClose,
        onError: (error) => {
          if (keep.current || statusOf(error) !== 412) return refused(error);
          setComparing(true);
          latest().then((now) => {
            if (left.current) return; // its name is to stay
            if (keep.current) return onClose();
            setComparing(false);
            setBefore(now);
            const renamed = now.name !== of.name;
            if (again && !renamed) return save(now, false); // something else was changed: a star, a tag
            setFault(
              renamed
                ? `Someone else has renamed it: it is “${isolatedParts(now.name)}” now. Save again to replace that.`
                : "It is being changed by others. Save again.",
            );
          }, refused);
        },
      },
    );
  };
  const saving = sent || comparing;
  return (
    <form
      className={styles.rename}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !isComposing(event)) leave();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        field.current?.focus(); // a button that is off while the name is sent hears no key
        if (saving) return;
        if (name === before.name) onClose();
        else if (name !== "") save(before);
      }}
    >
      <Textarea
        classNames={{ root: styles.renameField, input: styles.title }}
        aria-label="Name of this experiment"
        ref={field}
        autosize
        minRows={1}
        enterKeyHint="done"
        autoComplete="off"
        value={typed}
        readOnly={saving}
        maxLength={LONGEST}
        error={name === "" ? "It needs a name." : fault}
        onChange={(event) => setTyped(event.currentTarget.value.replace(/\s*\n\s*/g, " "))}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || isComposing(event)) return;
          event.preventDefault();
          enter();
        }}
        data-testid="new-name"
      />
      <Button type="submit" disabled={name === ""} loading={saving} data-testid="save-name">
        Save
      </Button>
      <Button variant="default" disabled={sent} onClick={leave}>
        Keep the name
      </Button>
      <p className={sent && tooLate ? styles.saving : ui.unseen} role="status">
        {sent &&
          (tooLate ? "The new name was sent already. The old one stays if it is refused." : "Saving …")}
      </p>
    </form>
  );
}
