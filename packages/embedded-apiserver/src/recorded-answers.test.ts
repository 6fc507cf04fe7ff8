import { describe, expect, it } from "vitest";
import { comparable, readRecordings } from "./test-support/recorded-answers.ts";
import { startTestServer } from "./test-support/test-server.ts";

// Answers of a kube-apiserver v1.36.3, recorded by tools/record-api-answers.ts.
for (const [name, recording] of await readRecordings()) {
  describe(`${name}: answered as a real API server does`, () => {
    it.each(Object.entries(recording))("%s", async (_title, steps) => {
      await using server = await startTestServer();
      for (const { method, path, body, type, answer } of steps) {
        const { status, body: given } = await server.request(method, path, body, type);
        expect(comparable(status, given)).toEqual(answer);
      }
    });
  });
}
