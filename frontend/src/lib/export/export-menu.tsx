import { Button, Menu } from "@mantine/core";
import type { ReactNode } from "react";

/** A small menu of what can be taken away; its label says of what. */
export function ExportMenu({ of, children, said = "Export" }: { of: string; children: ReactNode; said?: string }) {
  return (
    <Menu shadow="md" position="bottom-end" withinPortal>
      <Menu.Target>
        <Button size="compact-xs" variant="subtle" color="gray" aria-label={`Export: ${of}`}>
          {said}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
