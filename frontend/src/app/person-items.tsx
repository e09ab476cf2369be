import { Menu } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { explain } from "@/lib/api/problem";
import { signOutMutation } from "@/lib/client/@tanstack/react-query.gen";
import type { Me } from "@/lib/client/types.gen";
import { browser } from "@/lib/people/browser";
import { includes } from "@/lib/people/roles";
import { OpenedMenu } from "@/lib/ui/opened-menu";
import type { MenuButton } from "@/lib/ui/when-pressed";
import { tellTabs } from "./use-one-person";

/** The menu of the person: their account, and the way out. */
export function PersonItems({ button, me }: { button: MenuButton; me: Me }) {
  const leave = useMutation({
    ...signOutMutation(),
    onSuccess: () => {
      tellTabs(""); // what strangers are shown instead of this page tells nobody
      browser.load("/");
    },
  });
  return (
    <OpenedMenu button={button} width={220} withArrow>
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
      {leave.isError && <Menu.Label role="alert">You are still signed in. {explain(leave.error)}</Menu.Label>}
    </OpenedMenu>
  );
}

function describe(me: Me): string {
  return me.is_user ? `${me.name}, ${me.role}` : `${me.name}, signed in with the ${me.credential}`;
}
