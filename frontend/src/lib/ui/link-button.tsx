import { Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, Ref } from "react";

type AnchorButtonProps = ButtonProps &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof ButtonProps> & { ref?: Ref<HTMLAnchorElement> };

function AnchorButton({ ref, ...props }: AnchorButtonProps) {
  return <Button component="a" ref={ref} {...props} />;
}

/** A link that looks like a button; `to`, `params` and `search` are checked against the routes. */
export const LinkButton = createLink(AnchorButton);
