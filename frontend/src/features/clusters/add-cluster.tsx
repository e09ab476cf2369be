import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { listClusterTokensQueryKey, makeClusterTokenMutation } from "@/lib/client/@tanstack/react-query.gen";
import type { NewClusterToken } from "@/lib/client/types.gen";
import { ErrorPanel } from "@/lib/ui/error-panel";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { ShownOnce } from "@/lib/ui/shown-once";

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Makes the token of a cluster, and says what to type on its host. */
export function AddCluster() {
  const [name, setName] = useState("");
  const [label, setLabel] = useState("");
  const client = useQueryClient();
  const make = useMutation({
    ...makeClusterTokenMutation(),
    onSuccess: ({ cluster }) => {
      setLabel("");
      return client.invalidateQueries({ queryKey: listClusterTokensQueryKey({ path: { name: cluster } }) });
    },
  });
  const bad = name !== "" && !NAME.test(name);
  return (
    <Section title="Join a cluster" testId="add-cluster">
      <p className={screen.note}>
        Create a token here, install Hooke on a host of the cluster, and start its agent there. A token works
        for one cluster and is shown once. Earlier tokens of the cluster stay valid.
      </p>
      <form
        className={screen.form}
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate({ path: { name }, body: { label } });
        }}
      >
        <TextInput
          label="Cluster"
          placeholder="hpc"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={bad && "Lower-case letters, digits and . - _"}
          data-testid="cluster-name"
        />
        <TextInput
          label="Label"
          placeholder="login node"
          value={label}
          maxLength={120}
          onChange={(event) => setLabel(event.currentTarget.value)}
        />
        <Button type="submit" disabled={name === "" || bad} loading={make.isPending} data-testid="make-token">
          Create token
        </Button>
      </form>
      {make.isError && <ErrorPanel what="The token could not be created." error={make.error} />}
      {make.data && <Made token={make.data} />}
    </Section>
  );
}

function Made({ token }: { token: NewClusterToken }) {
  const commands = [
    `install -m 600 /dev/null ${token.cluster}.token && echo ${token.token} > ${token.cluster}.token`,
    `hooke agent --cluster ${token.cluster} --api ${window.location.origin} --broker redis://BROKER:6379/0 --broker-password-file redis-password --token-file ${token.cluster}.token`,
  ].join("\n");
  return (
    <ShownOnce text={commands} testId="new-token">
      The token is not shown again. On a host of the cluster, with the address of the server's Redis and a
      file with its password:
    </ShownOnce>
  );
}
