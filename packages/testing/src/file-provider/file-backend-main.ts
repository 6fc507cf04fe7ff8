import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { serveFileBackend } from "./file-backend-server.ts";

// The program that `startFileBackend` runs: its one argument is the folder.
await serveFileBackend(process.argv[2] ?? ".", { clock: systemClock, random: systemRandom });
