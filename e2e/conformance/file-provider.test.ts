import { fileProvider, startFileBackend, type FileBackendControl } from "@virtual-kubelet/testing";
import { contractFeatures, describeProvider } from "@virtual-kubelet/testing/conformance";
import { afterAll } from "vitest";
import { pretendPrograms } from "./support/good-providers.ts";
import { reportFile } from "./support/paths.ts";

// The back end is another process: pods outlive their provider, connections break, lists lack something.
const backend = await startFileBackend();
afterAll(() => backend[Symbol.asyncDispose]());

/** Makes the back end behave like that until it is disposed. */
async function controlled(control: FileBackendControl): Promise<AsyncDisposable> {
  backend.control(control);
  return {
    async [Symbol.asyncDispose]() {
      backend.control({});
    },
  };
}

const pretends = "the pretend back end runs no containers";
const away = { code: "VK_UNAVAILABLE", message: "the back end is away" } as const;

await describeProvider({
  provider: fileProvider,
  config: { directory: backend.directory },
  required: [...contractFeatures, "adoption", "notifications", "node", "networks"],
  lacks: {
    environment: pretends,
    files: pretends,
    restarts: pretends,
    "init-containers": pretends,
    "multiple-containers": pretends,
  },
  programs: pretendPrograms,
  backend: {
    losePod: ({ uid }) => backend.losePod(uid),
    breakBackend: () => controlled({ failures: { create: away, delete: away, get: away, list: away, ping: away } }),
    breakLists: () => controlled({ listIncomplete: true }),
  },
  report: reportFile("file"),
});
