import { Button, Group, NativeSelect } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  listMembersOptions,
  listMembersQueryKey,
  listUsersOptions,
  removeMemberMutation,
  setMemberMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { MemberRole } from "@/lib/client/types.gen";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./people.module.css";
import { others } from "./project-words";

const ROLES: readonly MemberRole[] = ["viewer", "researcher", "operator"];

/** The members of one project with their roles in it, and a form that adds one. */
export function ProjectMembers({ project }: { project: string }) {
  const path = { project };
  const query = useQuery(listMembersOptions({ path }));
  const users = useQuery(listUsersOptions()).data?.items ?? [];
  const client = useQueryClient();
  const again = { onSuccess: () => client.invalidateQueries({ queryKey: listMembersQueryKey({ path }) }) };
  const set = useMutation({ ...setMemberMutation(), ...again });
  const remove = useMutation({ ...removeMemberMutation(), ...again });
  const items = query.data?.items ?? [];
  const failed = [set, remove].find((each) => each.isError);
  return (
    <section className={styles.table} aria-label={`Members of ${project}`} data-testid="project-members">
      <LoadFault what="The members could not be loaded." query={query} />
      {query.isSuccess && items.length === 0 && <p className={screen.note}>{project} has no members yet.</p>}
      {items.length > 0 && (
        <TableRegion label={`List of members of ${project}`}>
          <table className={ui.table}>
            <thead>
              <tr>
                <th>Member of {project}</th>
                <th>Role in it</th>
                <th className={styles.unnamed}>
                  <span className={ui.unseen}>Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map(({ user, role, disabled }) => (
                <tr key={user} data-testid={`member-${user}`}>
                  <td>{disabled ? `${user} (disabled)` : user}</td>
                  <td data-export={role}>
                    <NativeSelect
                      size="xs"
                      w={120}
                      aria-label={`Role of ${user} in ${project}`}
                      value={role}
                      data={[...ROLES]}
                      disabled={set.isPending}
                      onChange={(event) =>
                        set.mutate({
                          path: { project, name: user },
                          body: { role: event.currentTarget.value as MemberRole },
                        })
                      }
                    />
                  </td>
                  <td>
                    <Group justify="flex-end" wrap="nowrap" align="center" gap={8}>
                      <ConfirmButton
                        size="xs"
                        label="Remove"
                        question={`Remove ${user}? ${user} loses access to ${project} at once. Runs continue.`}
                        keep="Keep the member"
                        confirm="Remove the member"
                        busy={remove.isPending}
                        act={() => remove.mutate({ path: { project, name: user } })}
                        testId="remove-member"
                      />
                    </Group>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableRegion>
      )}
      <AddMember
        names={others(users, items)}
        busy={set.isPending}
        add={(name, role) => set.mutate({ path: { project, name }, body: { role } })}
      />
      {failed && <ErrorPanel what="The change could not be made." error={failed.error} />}
    </section>
  );
}

function AddMember(props: {
  names: readonly string[];
  busy: boolean;
  add: (name: string, role: MemberRole) => void;
}) {
  const [asked, setAsked] = useState("");
  const [role, setRole] = useState<MemberRole>("researcher");
  const name = props.names.includes(asked) ? asked : props.names[0];
  if (name === undefined) return null;
  return (
    <form
      className={screen.form}
      onSubmit={(event) => {
        event.preventDefault();
        props.add(name, role);
      }}
    >
      <NativeSelect
        label="User"
        value={name}
        data={[...props.names]}
        onChange={(event) => setAsked(event.currentTarget.value)}
        data-testid="member-name"
      />
      <NativeSelect
        label="Role in the project"
        value={role}
        data={[...ROLES]}
        onChange={(event) => setRole(event.currentTarget.value as MemberRole)}
        data-testid="member-role"
      />
      <Button type="submit" loading={props.busy} data-testid="add-member">
        Add
      </Button>
    </form>
  );
}
