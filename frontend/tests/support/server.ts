/** The API, as far as a test needs it: a real HTTP server with an event stream, answering typed documents. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { cleanup } from "@testing-library/react";
import { afterEach, beforeEach, expect } from "vitest";
import { client } from "@/lib/client/client.gen";
import type { Fault, Me, ProblemDetails } from "@/lib/client/types.gen";
import { type Operations, USUAL } from "./operations";
import { names, verbs } from "./words";

type Operation = keyof Operations;

/** Who looks, unless a test says otherwise: the owner of a server without users. */
const OWNER: Me = {
  name: "owner",
  role: "admin",
  credential: "start-up token",
  is_user: false,
  users: false,
  projects: {},
};

export interface Asked {
  readonly operation: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

type Result<T> = T | Refusal | Promise<T | Refusal>;
type Answer<T> = Result<T> | ((asked: Asked) => Result<T>);

/** A problem+json answer. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly errors: Fault[] = [],
  ) {}

  body(instance: string): ProblemDetails {
    const { status, detail, errors } = this;
    return { type: "/problems/test", title: "Refused", status, detail, errors, instance, request_id: "req" };
  }
}

const BASE = "/api/v1";
/** What the server tells also those who have not signed in. */
const TOLD_TO_ALL = new Set(["GET /readyz", "GET /oidc"]);

/** The operation of a path: ids become stars. */
function template(path: string): string {
  if (!path.startsWith(`${BASE}/`)) return path;
  const parts = path.slice(BASE.length + 1).split("/");
  return `/${parts.map((part) => (names.has(part) || verbs.has(part) ? part : "*")).join("/")}`;
}

export class ApiServer {
  readonly asked: Asked[] = [];
  readonly streams: Asked[] = [];
  url = "";
  /** Status of a refusal that the event stream answers with, if any. */
  refuseStream: number | undefined;
  /** Whether whoever asks has not signed in. */
  strangers = false;
  private readonly answers = new Map<string, Answer<unknown>>();
  private readonly open = new Set<ServerResponse>();
  private readonly held = new Set<() => void>();
  private readonly early: string[] = [];
  private lets = false;
  private readonly unanswered: string[] = [];
  private server: Server | undefined;

  /** From now on this operation answers so. */
  on<O extends Operation>(operation: O, answer: Answer<Operations[O]>): this {
    this.answers.set(operation, answer);
    return this;
  }

  /** The requests of one operation, in order. */
  askedFor(operation: Operation): Asked[] {
    return this.asked.filter((one) => one.operation === operation);
  }

  /**
   * From now on event streams are let through, also those that wait for it. A page asks anew for all that it shows once
   * its stream opens: a test that needs no stream must not be disturbed by this at a moment of the machine's choice.
   */
  letStreams(): this {
    this.lets = true;
    for (const open of [...this.held]) open();
    return this;
  }

  /** Let streams through, and write one event to every open one, or to the one that opens next. */
  send(kind: string, data: object, id: number): void {
    const text = `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
    if (this.letStreams().open.size > 0) this.write(text);
    else this.early.push(text);
  }

  /** Write as it is. */
  write(text: string): void {
    for (const stream of this.open) stream.write(text);
  }

  /** Let streams through; how many are open. */
  listening(): number {
    return this.letStreams().open.size;
  }

  /** End every open stream, as a server does that restarts. */
  breakStreams(): void {
    for (const stream of this.open) stream.destroy();
    this.open.clear();
  }

  async start(): Promise<void> {
    this.on("GET /me", OWNER);
    this.server = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf-8");
      request.on("data", (part: string) => {
        text += part;
      });
      request.on("end", () => {
        const { pathname: path, searchParams: query } = new URL(request.url ?? "/", this.url);
        const file = request.headers["content-type"] === "application/octet-stream";
        const body: unknown = text && !file ? JSON.parse(text) : text || undefined;
        const operation = `${request.method} ${template(path)}`;
        const asked = { operation, path, query, headers: request.headers, body };
        if (path === `${BASE}/events`) this.follow(asked, response);
        else void this.answer(asked, response);
      });
    });
    await new Promise<void>((ready) => this.server?.listen(0, "127.0.0.1", ready));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.breakStreams();
    this.server?.closeAllConnections();
    await new Promise((done) => this.server?.close(done));
  }

  /** Forget everything; return what was asked for in vain. */
  reset(): string[] {
    this.breakStreams();
    this.answers.clear();
    this.asked.length = 0;
    this.streams.length = 0;
    this.refuseStream = undefined;
    this.strangers = false;
    this.held.clear();
    this.early.length = 0;
    this.lets = false;
    return this.unanswered.splice(0);
  }

  private async answer(asked: Asked, response: ServerResponse): Promise<void> {
    this.asked.push(asked);
    const known = this.answers.get(asked.operation) ?? USUAL.get(asked.operation);
    if (known === undefined) this.unanswered.push(asked.operation);
    const unknown = this.strangers && !TOLD_TO_ALL.has(asked.operation);
    const given = unknown
      ? new Refusal(401, "Who are you?")
      : (known ?? new Refusal(404, "No test answers this."));
    const result = await (typeof given === "function" ? given(asked) : given);
    const refused = result instanceof Refusal;
    response.writeHead(refused ? result.status : 200, {
      "content-type": refused ? "application/problem+json" : "application/json",
    });
    response.end(JSON.stringify(refused ? result.body(asked.path) : result));
  }

  private follow(asked: Asked, response: ServerResponse): void {
    this.streams.push(asked);
    if (this.refuseStream !== undefined) {
      response.writeHead(this.refuseStream).end();
      return;
    }
    const open = () => {
      this.held.delete(open);
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      response.write("retry: 20\n\n"); // a browser would wait three seconds before it comes back
      this.open.add(response);
      for (const text of this.early.splice(0)) response.write(text);
    };
    response.on("close", () => {
      this.held.delete(open);
      this.open.delete(response);
    });
    this.held.add(open);
    if (this.lets) open();
  }
}

/** A fresh server for each test of a file; a request that no test expected fails the test that caused it. */
export function apiServer(): ApiServer {
  const server = new ApiServer();
  beforeEach(async () => {
    await server.start();
    client.setConfig({ baseUrl: server.url as `http://${string}` });
  });
  afterEach(async () => {
    cleanup(); // before the connections end: nobody is left to be told
    await server.stop();
    expect(server.reset(), "requests that no test answers").toEqual([]);
  });
  return server;
}
