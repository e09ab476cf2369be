import "@/lib/theme/mantine.css";
import "@/lib/theme/tokens.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { makeQueryClient } from "@/app/query-client";
import { makeRouter } from "@/app/router";
import { askEarly } from "@/features/experiment/ask-early";
import { EventStream } from "@/lib/events/event-stream";
import { sourceOpener } from "@/lib/events/open-source";
import { pagePosition } from "@/lib/events/page-position";
import { lightOnPaper } from "@/lib/theme/paper";
import { fetchIdly, fetchLater } from "@/lib/ui/lazily";

const root = document.getElementById("root");
if (!root) throw new Error("index.html lacks the element #root");

lightOnPaper();

const stream = new EventStream("/api/v1/events", sourceOpener());
stream.beginAfter(pagePosition(document)); // before anything is read

const queries = makeQueryClient();
askEarly(window.location, stream, queries);

createRoot(root).render(
  <StrictMode>
    <App router={makeRouter()} queries={queries} stream={stream} />
  </StrictMode>,
);

const paper = () => import("@/lib/theme/print");
fetchLater(paper);
window.addEventListener("beforeprint", paper); // for those who print before it was fetched, and print again
fetchIdly();
