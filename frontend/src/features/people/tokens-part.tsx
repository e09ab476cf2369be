import { Group } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  listTokensOptions,
  listTokensQueryKey,
  revokeTokenMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { Me, TokenView } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { useNow } from "@/lib/ui/use-now";
import { ListTable } from "./list-table";
import { NewTokenForm } from "./new-token-form";
import { tokenOwner, tokenState } from "./token-state";

/** Tokens, one's own or of everybody, and a form for another one. */
export function TokensPart({ me, all }: { me: Me; all: boolean }) {
  const query = useQuery(listTokensOptions());
  const client = useQueryClient();
  const revoke = useMutation({
    ...revokeTokenMutation(),
    onSuccess: () => client.invalidateQueries({ queryKey: listTokensQueryKey() }),
  });
  const known = query.data?.items ?? [];
  const items = all ? known : known.filter((token) => (me.is_user ? token.user === me.name : !token.user));
  return (
    <Section title="Tokens" testId="tokens-part">
      <LoadFault what="The tokens could not be loaded." query={query} />
      {items.length > 0 && (
        <ListTable
          label="List of tokens"
          titles={["Label", ...(all ? ["Owner"] : []), "Scope", "Valid", "Last used", "Token"]}
          testId="tokens"
        >
          {items.map((token) => (
            <Row
              key={token.id}
              token={token}
              all={all}
              busy={revoke.isPending && revoke.variables.path.token_id === token.id}
              revoke={() => revoke.mutate({ path: { token_id: token.id } })}
            />
          ))}
        </ListTable>
      )}
      {revoke.isError && <ErrorPanel what="The token could not be revoked." error={revoke.error} />}
      <NewTokenForm me={me} />
    </Section>
  );
}

function Row(props: { token: TokenView; all: boolean; busy: boolean; revoke: () => void }) {
  const { token } = props;
  const now = useNow();
  const { valid, words } = tokenState(token, now);
  return (
    <tr>
      <td>{token.label || "no label"}</td>
      {props.all && <td>{tokenOwner(token)}</td>}
      <td>{token.scope}</td>
      <td title={formatMoment(token.revoked_at ?? token.expires_at)}>{words}</td>
      <td title={formatMoment(token.used_at)}>{token.used_at ? formatAge(token.used_at, now) : "never"}</td>
      <td>
        <code>…{token.id.slice(-8)}</code>
      </td>
      <td>
        <Group justify="flex-end" wrap="nowrap" align="center" gap={8}>
          {valid && (
            <ConfirmButton
              size="xs"
              label="Revoke"
              question={`Revoke the token ${token.label || "without a label"}? Programs that use it are refused at once.`}
              keep="Keep it"
              confirm="Revoke the token"
              busy={props.busy}
              act={props.revoke}
              testId="revoke-token"
            />
          )}
        </Group>
      </td>
    </tr>
  );
}
