// The provider of tests/api/oidc/certified.py: node-oidc-provider, which the OpenID Foundation has certified, with its own
// pages for sign-in and consent. Its one argument is JSON: folder, port, client, keys, accounts, skew in seconds, settings.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const told = JSON.parse(process.argv[2]);
const { default: Provider } = await import(pathToFileURL(`${told.folder}/node_modules/oidc-provider/lib/index.js`));
const now = Date.now;
Date.now = () => now() + 1000 * told.skew;

const accounts = told.accounts;
const provider = new Provider(`http://localhost:${told.port}`, {
  clients: [told.client],
  jwks: { keys: told.keys },
  cookies: { keys: ["a key of the tests"] },
  claims: { email: ["email", "email_verified"], profile: ["preferred_username", "name"], groups: ["groups"] },
  scopes: ["openid", "email", "profile", "groups"],
  pkce: { required: () => true },
  enabledJWA: { idTokenSigningAlgValues: ["RS256", "ES256", "PS256"] },
  findAccount: async (_, id) =>
    accounts[id] && { accountId: id, claims: async () => ({ sub: id, ...accounts[id] }) },
  ...told.settings,
});
createServer(provider.callback()).listen(told.port, "127.0.0.1", () => process.stdout.write("ready\n"));
