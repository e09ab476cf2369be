import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  listClusterTokensOptions,
  listClusterTokensQueryKey,
  revokeClusterTokenMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { ClusterTokenView } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import styles from "./clusters.module.css";

/** The tokens of a cluster; their secrets are not known any more. */
export function Tokens({ cluster }: { cluster: string }) {
  const path = { name: cluster };
  const query = useQuery(listClusterTokensOptions({ path }));
  const client = useQueryClient();
  const revoke = useMutation({
    ...revokeClusterTokenMutation(),
    onSuccess: () => client.invalidateQueries({ queryKey: listClusterTokensQueryKey({ path }) }),
  });
  if (query.isError) return <LoadFault what="The tokens could not be loaded." query={query} />;
  const items = query.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <>
      <h3 className={styles.heading}>Tokens</h3>
      <TableRegion label={`Tokens of ${cluster}`}>
        <table className={ui.table} data-testid="tokens">
          <thead>
            <tr>
              <th>Label</th>
              <th>Created</th>
              <th>Last used</th>
              <th>Expires</th>
              <th>Token</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {items.map((token) => (
              <Row
                key={token.id}
                token={token}
                busy={revoke.isPending && revoke.variables.path.token_id === token.id}
                revoke={() => revoke.mutate({ path: { token_id: token.id } })}
              />
            ))}
          </tbody>
        </table>
      </TableRegion>
      {revoke.isError && <ErrorPanel what="The token could not be revoked." error={revoke.error} />}
    </>
  );
}

function Row(props: { token: ClusterTokenView; busy: boolean; revoke: () => void }) {
  const { token } = props;
  const now = useNow();
  return (
    <tr>
      <td>{token.label || "no label"}</td>
      <td title={formatMoment(token.created_at)}>{formatAge(token.created_at, now)}</td>
      <td title={formatMoment(token.used_at)}>{token.used_at ? formatAge(token.used_at, now) : "never"}</td>
      <td title={token.expires_at ? "Its agent renews it before it expires." : undefined}>
        {token.expires_at ? formatMoment(token.expires_at).slice(0, 10) : "never"}
      </td>
      <td>
        <code>…{token.id.slice(-8)}</code>
      </td>
      <td className={styles.right}>
        {token.revoked_at ? (
          <span title={formatMoment(token.revoked_at)}>revoked {formatAge(token.revoked_at, now)}</span>
        ) : (
          <ConfirmButton
            label="Revoke"
            question="Revoke this token? An agent that uses it is refused at once. Started runs continue and report."
            keep="Keep it"
            confirm="Revoke the token"
            busy={props.busy}
            act={props.revoke}
            testId="revoke"
          />
        )}
      </td>
    </tr>
  );
}
