import { ActionIcon, Menu } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { explain } from "@/lib/api/problem";
import { signOutMutation } from "@/lib/client/@tanstack/react-query.gen";
import type { Me } from "@/lib/client/types.gen";
import { browser } from "@/lib/people/browser";
import { includes } from "@/lib/people/roles";
import { useMe } from "@/lib/people/use-me";

const PERSON = "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20.5a7.5 7.5 0 0 1 15 0";

/** Who uses this browser, and what concerns only them. */
export function PersonMenu() {
  const me = useMe();
  const leave = useMutation({ ...signOutMutation(), onSuccess: () => browser.load("/") });
  if (!me) return null;
  return (
    <Menu position="bottom-end" width={220} withArrow>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`Account of ${me.name}`}
          data-testid="person"
        >
          <svg
            width="18"
            height="18"
            viewBox="0 0 24 24"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.8"
            strokeLinecap="round"
            aria-hidden="true"
          >
            <path d={PERSON} />
          </svg>
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label data-testid="person-name">{describe(me)}</Menu.Label>
        <Menu.Item component={Link} to="/account">
          Password and tokens
        </Menu.Item>
        {includes(me.role, "admin") && (
          <Menu.Item component={Link} to="/administration">
            Administration
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item
          disabled={leave.isPending}
          closeMenuOnClick={false}
          onClick={() => leave.mutate({})}
          data-testid="sign-out"
        >
          Sign out
        </Menu.Item>
        {leave.isError && (
          <Menu.Label role="alert">You are still signed in. {explain(leave.error)}</Menu.Label>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function describe(me: Me): string {
  return me.is_user ? `${me.name}, ${me.role}` : `${me.name}, with the ${me.credential}`;
}
