import { Button, FileButton } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { importExperimentMutation, readExperimentQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import { useRefusal } from "@/lib/people/use-me";
import { intoQuery } from "@/lib/projects/use-projects";
import { ErrorPanel } from "@/lib/ui/error-panel";

/** Import an experiment from a file, into the project that is in view; its page opens when it is stored. */
export function useImport(project: string | undefined) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    ...importExperimentMutation({ query: intoQuery(project) }),
    onSuccess: (view) => {
      client.setQueryData(readExperimentQueryKey({ path: { experiment_id: view.id } }), view);
      void navigate({ to: "/experiments/$experimentId", params: { experimentId: view.id } });
    },
  });
}

export type Import = ReturnType<typeof useImport>;

export function ImportButton({ act }: { act: Import }) {
  const again = useRef<() => void>(null);
  if (useRefusal("researcher") !== undefined) return null;
  return (
    <FileButton
      accept=".zip,application/zip"
      resetRef={again}
      onChange={(file) => {
        again.current?.(); // so that the same file can be chosen again
        if (file) act.mutate({ body: file });
      }}
      inputProps={{ "aria-label": "File of an exported experiment" }}
    >
      {(props) => (
        <Button {...props} variant="default" loading={act.isPending} data-testid="import">
          Import
        </Button>
      )}
    </FileButton>
  );
}

export function ImportFault({ act }: { act: Import }) {
  return act.isError ? <ErrorPanel what="The experiment could not be imported." error={act.error} /> : null;
}
