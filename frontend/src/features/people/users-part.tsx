import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  addUserMutation,
  inviteUserMutation,
  listUsersOptions,
  listUsersQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { Me, Role } from "@/lib/client/types.gen";
import { MEANINGS, ROLES } from "@/lib/people/roles";
import { ErrorPanel } from "@/lib/ui/error-panel";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { ShownOnce } from "@/lib/ui/shown-once";
import ui from "@/lib/ui/ui.module.css";
import styles from "./people.module.css";
import { UserRow } from "./user-row";

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** The users, and a form that invites another one. */
export function UsersPart({ me }: { me: Me }) {
  const query = useQuery(listUsersOptions());
  const client = useQueryClient();
  const again = { onSuccess: () => client.invalidateQueries({ queryKey: listUsersQueryKey() }) };
  const add = useMutation({ ...addUserMutation(), ...again });
  const invite = useMutation({ ...inviteUserMutation(), ...again });
  const made = [add, invite]
    .filter((each) => each.data)
    .sort((one, other) => other.submittedAt - one.submittedAt)[0]?.data;
  const items = query.data?.items ?? [];
  return (
    <Section title="Users" testId="users-part">
      {query.isError && <ErrorPanel what="The users could not be listed." error={query.error} />}
      {items.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section className={`${ui.tableWrap} ${styles.table}`} aria-label="List of users" tabIndex={0}>
          <table className={ui.table} data-testid="users">
            <thead>
              <tr>
                <th>Name</th>
                <th>Role</th>
                <th>State</th>
                <th>Last sign-in</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {items.map((user) => (
                <UserRow
                  key={user.name}
                  user={user}
                  self={me.is_user && user.name === me.name}
                  inviting={invite.isPending && invite.variables.path.name === user.name}
                  invite={() => invite.mutate({ path: { name: user.name } })}
                />
              ))}
            </tbody>
          </table>
        </section>
      )}
      <AddUser busy={add.isPending} add={(name, role) => add.mutateAsync({ body: { name, role } })} />
      {add.isError && <ErrorPanel what="The user was not added." error={add.error} />}
      {invite.isError && <ErrorPanel what="No invitation was made." error={invite.error} />}
      {made && (
        <ShownOnce text={`${window.location.origin}${made.path}`} testId="invite-link">
          Send this address to {made.user.name}: it sets a password, works once, and expires after seven days.
          It is not shown again.
        </ShownOnce>
      )}
    </Section>
  );
}

function AddUser(props: { busy: boolean; add: (name: string, role: Role) => Promise<unknown> }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("researcher");
  const bad = name !== "" && !NAME.test(name);
  return (
    <form
      className={screen.form}
      onSubmit={(event) => {
        event.preventDefault();
        props.add(name, role).then(
          () => setName(""),
          () => undefined, // it is said below
        );
      }}
    >
      <TextInput
        label="Name"
        placeholder="ana"
        value={name}
        maxLength={63}
        error={bad && "Lower-case letters, digits, dot, dash and underscore"}
        onChange={(event) => setName(event.currentTarget.value)}
        data-testid="user-name"
      />
      <NativeSelect
        label="Role"
        value={role}
        data={ROLES.map((value) => ({ value, label: `${value}: ${MEANINGS[value]}` }))}
        onChange={(event) => setRole(event.currentTarget.value as Role)}
        data-testid="user-role"
      />
      <Button type="submit" disabled={name === "" || bad} loading={props.busy} data-testid="add-user">
        Invite
      </Button>
    </form>
  );
}
