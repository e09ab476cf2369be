/** The browser's own navigation: who has signed in or out starts with nothing that was read before. */
export const browser = {
  load: (address: string) => window.location.assign(address),
};
