/**
 * Call at once, then again at the earliest `interval` ms after the last call has ended; however many requests came
 * in between, they make one call. A call that returns a promise ends when that settles: a slow server is never
 * asked twice at the same time.
 */
export interface Throttled {
  (): void;
  cancel(): void;
}

export function throttle(call: () => unknown, interval: number): Throttled {
  let busy = false;
  let again = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const rest = () => {
    timer = setTimeout(() => {
      busy = false;
      if (!again) return;
      again = false;
      request();
    }, interval);
  };
  const request = () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    Promise.resolve(call()).then(rest, rest);
  };
  return Object.assign(request, {
    cancel() {
      clearTimeout(timer);
      busy = false;
      again = false;
    },
  });
}
