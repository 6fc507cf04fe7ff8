import { FakeApi } from "./fake-api.ts";

// npm run fake-api -- [PORT]: what `npm start` talks to until it is given the address of a real API.
const api = await FakeApi.start(Number(process.argv[2] ?? 8700));
process.stdout.write(`the fake API listens on ${api.address}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void api[Symbol.asyncDispose]());
