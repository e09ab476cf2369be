/** A function that runs at most once per animation frame, with the newest state at that moment. */
export interface Framed {
  (): void;
  cancel(): void;
}

export function oncePerFrame(draw: () => void): Framed {
  let handle: number | undefined;
  const request = () => {
    handle ??= requestAnimationFrame(() => {
      handle = undefined;
      draw();
    });
  };
  return Object.assign(request, {
    cancel() {
      if (handle !== undefined) cancelAnimationFrame(handle);
      handle = undefined;
    },
  });
}
