import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { startOidcMutation } from "@/lib/client/@tanstack/react-query.gen";
import type { OidcStart } from "@/lib/client/types.gen";
import { browser } from "@/lib/people/browser";
import { ErrorPanel } from "@/lib/ui/error-panel";

interface ProviderButtonProps {
  label: string;
  start: OidcStart;
}

/** Leads to the provider, which sends the browser back when it has identified the person. */
export function ProviderButton({ label, start }: ProviderButtonProps) {
  const begin = useMutation({
    ...startOidcMutation(),
    onSuccess: ({ address }) => browser.load(address),
  });
  return (
    <>
      <Button
        variant="default"
        loading={begin.isPending || begin.isSuccess}
        onClick={() => begin.mutate({ body: start })}
        data-testid="provider"
      >
        {label}
      </Button>
      {begin.isError && <ErrorPanel what="You are not signed in:" error={begin.error} />}
    </>
  );
}
