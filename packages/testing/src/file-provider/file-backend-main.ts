import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { serveFileBackend } from "./file-backend-server.ts";

// The program that `startFileBackend` runs. Its only argument is the folder.
await serveFileBackend(process.argv[2] ?? ".", { clock: systemClock, random: systemRandom });
