import { Button, Group, NativeSelect } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import {
  changeUserMutation,
  endSessionsMutation,
  listUsersQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { Role, UserView } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";
import { ROLES } from "@/lib/people/roles";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import { userState } from "./user-state";

interface UserRowProps {
  user: UserView;
  /** Whether it is the one who looks: nobody changes their own role or access. */
  self: boolean;
  inviting: boolean;
  invite: () => void;
}

/** One user: role, access, invitation, sessions. */
export function UserRow({ user, self, inviting, invite }: UserRowProps) {
  const client = useQueryClient();
  const change = useMutation({
    ...changeUserMutation(),
    onSuccess: () => client.invalidateQueries({ queryKey: listUsersQueryKey() }),
  });
  const end = useMutation(endSessionsMutation());
  const failed = [change, end].find((each) => each.isError);
  const now = useNow();
  const state = userState(user, now);
  const path = { name: user.name };
  return (
    <tr data-testid={`user-${user.name}`}>
      <td>
        {user.name}
        {failed && <ErrorPanel what="The change could not be made." error={failed.error} />}
      </td>
      <td data-export={user.role}>
        <NativeSelect
          size="xs"
          w={120}
          aria-label={`Role of ${user.name}`}
          title={self ? "You cannot change your own role." : undefined}
          disabled={self || change.isPending}
          value={user.role}
          data={[...ROLES]}
          onChange={(event) => change.mutate({ path, body: { role: event.currentTarget.value as Role } })}
        />
      </td>
      <td>
        <span className={`${ui.state} ${ui[state.tone]}`}>
          <span className={ui.dot} />
          {state.words}
        </span>
      </td>
      <td title={formatMoment(user.signed_in_at)}>
        {user.signed_in_at ? formatAge(user.signed_in_at, now) : "never"}
      </td>
      <td>
        <Group justify="flex-end" wrap="nowrap" align="center" gap={8}>
          {!user.disabled && (
            <Button
              size="xs"
              variant="default"
              loading={inviting}
              onClick={invite}
              title="Creates an address where the user sets a new password."
              data-testid="invite"
            >
              Invite again
            </Button>
          )}
          {!user.disabled && !self && (
            <ConfirmButton
              size="xs"
              label={end.isSuccess ? "Signed out" : "Sign out"}
              question={`End all sessions of ${user.name}, in every browser? Tokens stay valid, and runs continue.`}
              keep="Keep the sessions"
              confirm="End the sessions"
              busy={end.isPending}
              act={() => end.mutate({ path })}
              testId="end-sessions"
            />
          )}
          {user.disabled ? (
            <Button
              size="xs"
              variant="default"
              loading={change.isPending}
              onClick={() => change.mutate({ path, body: { disabled: false } })}
              data-testid="enable"
            >
              Enable
            </Button>
          ) : (
            !self && (
              <ConfirmButton
                size="xs"
                label="Disable"
                question={`Disable ${user.name}? Their sessions end and their tokens are refused at once. Runs continue.`}
                keep="Keep access"
                confirm="Disable the user"
                busy={change.isPending}
                act={() => change.mutate({ path, body: { disabled: true } })}
                testId="disable"
              />
            )
          )}
        </Group>
      </td>
    </tr>
  );
}
