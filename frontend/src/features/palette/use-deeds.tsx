import { Affix, Group, Loader, Modal, Paper } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { QuestionWindow } from "@/lib/ui/question-window";
import type { Deed } from "./deeds";

/** Does what the palette offers, after its question; the window says what is asked, or what went wrong. */
export function useDeeds(): { begin: (deed: Deed) => void; window: ReactNode } {
  const client = useQueryClient();
  const router = useRouter();
  const [asked, setAsked] = useState<Deed>();
  const [told, tell] = useState("");
  const doing = useMutation({
    mutationFn: (deed: Deed) => deed.act(tell),
    onSettled: () => tell(""),
    onSuccess: (answer, { next: to }) => {
      const next = typeof to === "function" ? to(answer) : to;
      if (next !== undefined) router.history.push(next);
      else if (typeof to !== "function") void client.invalidateQueries();
    },
  });
  const begin = (deed: Deed) => {
    doing.reset();
    if (deed.asks) setAsked(deed);
    else doing.mutate(deed);
  };
  const failed = doing.isError && doing.variables;
  const window = (
    <>
      {asked?.asks && (
        <QuestionWindow
          title={asked.label}
          {...asked.asks}
          act={() => {
            setAsked(undefined);
            doing.mutate(asked);
          }}
          onClose={() => setAsked(undefined)}
          testId="palette"
        />
      )}
      <Affix position={{ bottom: 20, right: 20 }} role="status">
        {told && (
          <Paper withBorder shadow="md" px={16} py={10}>
            <Group gap={10} fz={14}>
              <Loader size={16} aria-hidden="true" />
              {told}
            </Group>
          </Paper>
        )}
      </Affix>
      {failed && (
        <Modal opened onClose={() => doing.reset()} title={failed.label}>
          <ErrorPanel what={failed.fails ?? "Nothing was changed."} error={doing.error} />
        </Modal>
      )}
    </>
  );
  return { begin, window };
}
