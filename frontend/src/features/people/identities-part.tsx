import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import {
  linkIdentityMutation,
  listIdentitiesQueryKey,
  unlinkIdentityMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { IdentityList, IdentityView } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";
import { Unless } from "@/lib/people/allowed";
import { browser } from "@/lib/people/browser";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { useNow } from "@/lib/ui/use-now";
import { ListTable } from "./list-table";
import { ProviderProblem } from "./provider-problem";
import { useProvider } from "./use-provider";

/** Accounts at a provider that sign the user in: listed, linked, unlinked. */
export function IdentitiesPart({ list, problem }: { list: IdentityList; problem?: string }) {
  const provider = useProvider(problem);
  const client = useQueryClient();
  const link = useMutation({ ...linkIdentityMutation(), onSuccess: ({ address }) => browser.load(address) });
  const unlink = useMutation({
    ...unlinkIdentityMutation(),
    onSuccess: () => client.invalidateQueries({ queryKey: listIdentitiesQueryKey() }),
  });
  const name = provider?.name;
  if (!name && list.items.length === 0) return null;
  return (
    <Section title="Accounts at a provider" testId="identities-part">
      <ProviderProblem title="The account could not be linked" problem={provider?.problem} />
      {list.items.length > 0 && (
        <ListTable
          label="List of accounts"
          titles={["Account", "Provider", "Last sign-in"]}
          testId="identities"
        >
          {list.items.map((identity) => (
            <Row
              key={identity.id}
              identity={identity}
              busy={unlink.isPending && unlink.variables.path.identity_id === identity.id}
              unlink={() => unlink.mutate({ path: { identity_id: identity.id } })}
            />
          ))}
        </ListTable>
      )}
      {unlink.isError && <ErrorPanel what="The account could not be unlinked." error={unlink.error} />}
      {name && (
        <>
          <p className={screen.note}>A linked account signs you in without a password.</p>
          <Button
            variant="default"
            loading={link.isPending || link.isSuccess}
            onClick={() => link.mutate({})}
            data-testid="link-identity"
          >
            Link an account at {name}
          </Button>
        </>
      )}
      {link.isError && <ErrorPanel what="The account could not be linked." error={link.error} />}
    </Section>
  );
}

function Row(props: { identity: IdentityView; busy: boolean; unlink: () => void }) {
  const { identity } = props;
  const now = useNow();
  const why = identity.last_way ? "You have no password, so you could not sign in without it." : undefined;
  return (
    <tr>
      <td>{identity.label}</td>
      <td>
        {identity.issuer}
        {!identity.usable && ", no longer the provider of this server"}
      </td>
      <td title={formatMoment(identity.used_at)}>
        {identity.used_at ? formatAge(identity.used_at, now) : "never"}
      </td>
      <td>
        <Group justify="flex-end" wrap="nowrap" align="center" gap={8}>
          <Unless why={why}>
            <ConfirmButton
              size="xs"
              label="Unlink"
              question={`Unlink ${identity.label}? You can no longer sign in with it, and your other sessions end.`}
              keep="Keep it"
              confirm="Unlink the account"
              busy={props.busy}
              act={props.unlink}
              testId="unlink-identity"
            />
          </Unless>
        </Group>
      </td>
    </tr>
  );
}
