import { NativeSelect } from "@mantine/core";
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
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { ShownOnce } from "@/lib/ui/shown-once";
import { ListTable } from "./list-table";
import { NameForm } from "./name-form";
import { UserRow } from "./user-row";

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
      <LoadFault what="The users could not be loaded." query={query} />
      {items.length > 0 && (
        <ListTable label="List of users" titles={["Name", "Role", "State", "Last sign-in"]} testId="users">
          {items.map((user) => (
            <UserRow
              key={user.name}
              user={user}
              self={me.is_user && user.name === me.name}
              inviting={invite.isPending && invite.variables.path.name === user.name}
              invite={() => invite.mutate({ path: { name: user.name } })}
            />
          ))}
        </ListTable>
      )}
      <AddUser busy={add.isPending} add={(name, role) => add.mutateAsync({ body: { name, role } })} />
      {add.isError && <ErrorPanel what="The user could not be added." error={add.error} />}
      {invite.isError && <ErrorPanel what="The invitation could not be created." error={invite.error} />}
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
  const [role, setRole] = useState<Role>("researcher");
  return (
    <NameForm
      label="Name"
      placeholder="ana"
      action="Invite"
      busy={props.busy}
      make={(name) => props.add(name, role)}
      testIds={{ name: "user-name", action: "add-user" }}
    >
      <NativeSelect
        label="Role"
        value={role}
        data={ROLES.map((value) => ({ value, label: `${value}: ${MEANINGS[value]}` }))}
        onChange={(event) => setRole(event.currentTarget.value as Role)}
        data-testid="user-role"
      />
    </NameForm>
  );
}
