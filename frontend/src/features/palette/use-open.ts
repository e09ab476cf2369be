import { useMantineColorScheme } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import type { Deed } from "./deeds";
import type { Target } from "./entries";

/** Does what an entry stands for; returns whether another page is shown then, or another part of this one. */
export function useOpen(doIt: (deed: Deed) => void): (target: Target) => boolean {
  const router = useRouter();
  const { setColorScheme } = useMantineColorScheme();
  return (target) => {
    switch (target.kind) {
      case "page":
        router.history.push(target.to);
        return true;
      case "here":
        void router.navigate({ href: target.to, replace: true, resetScroll: false }); // Back is no way to undo it
        return true;
      case "file":
        window.open(target.address, "_blank", "noopener");
        return false;
      case "scheme":
        setColorScheme(target.next);
        return false;
      case "deed":
        doIt(target.deed);
        return false;
    }
  };
}
