import { expect, test } from "vitest";
import { answerHandshake } from "./handshake.ts";

const answer = (request: unknown): { response: unknown; problem: string | undefined } => {
  const { response, problem } = answerHandshake(Buffer.from(typeof request === "string" ? request : JSON.stringify(request)));
  return { response: JSON.parse(response), problem };
};

test("the type of the session is accepted, and unknown actions are declined", () => {
  expect(
    answer({
      AgentVersion: "3.1.0",
      RequestedClientActions: [
        { ActionType: "SessionType", ActionParameters: { SessionType: "InteractiveCommands", Properties: {} } },
        { ActionType: "Dance", ActionParameters: null },
      ],
    }),
  ).toEqual({
    response: {
      ClientVersion: "1.2.0.0",
      ProcessedClientActions: [
        { ActionType: "SessionType", ActionStatus: 1, ActionResult: null, Error: "" },
        { ActionType: "Dance", ActionStatus: 3, ActionResult: null, Error: "unsupported action Dance" },
      ],
      Errors: [],
    },
    problem: undefined,
  });
});

test("encryption is refused, with what to change", () => {
  const { response, problem } = answer({ RequestedClientActions: [{ ActionType: "KMSEncryption", ActionParameters: { KMSKeyId: "k" } }] });

  expect(problem).toContain("remove kmsKeyId");
  expect(response).toMatchObject({ ProcessedClientActions: [{ ActionType: "KMSEncryption", ActionStatus: 2 }] });
});

test.each(["{", "[]", "null"])("a handshake that cannot be read is a problem: %s", (text) => {
  expect(answer(text).problem).toBe("the agent's handshake cannot be read");
});
