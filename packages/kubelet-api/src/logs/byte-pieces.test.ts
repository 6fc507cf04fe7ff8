import { expect, test } from "vitest";
import { BytePieces } from "./byte-pieces.ts";

const bytes = Buffer.from("0123456789");
const joined = (fill: (pieces: BytePieces) => void): string => {
  const pieces = new BytePieces(bytes);
  fill(pieces);
  return Buffer.from(pieces.join()).toString();
};

test("pieces keep their order, including inserted ones", () => {
  const both = joined((pieces) => {
    pieces.take(0, 2);
    pieces.insert(Buffer.from("<>"));
    pieces.take(2, 4);
    pieces.take(4, 5);
    pieces.take(8, 10);
    pieces.insert(Buffer.from("!"));
  });

  expect(both).toBe("01<>23489!");
});

test("no pieces, or pieces without bytes, give an empty result", () => {
  expect(joined(() => {})).toBe("");
  expect(joined((pieces) => pieces.take(3, 3))).toBe("");
  expect(
    joined((pieces) => {
      pieces.take(3, 3);
      pieces.take(5, 6);
    }),
  ).toBe("5");
  expect(joined((pieces) => pieces.insert(Buffer.from("alone")))).toBe("alone");
});

test("adjacent pieces become one, which is not copied", () => {
  const pieces = new BytePieces(bytes);
  pieces.take(1, 3);
  pieces.take(3, 6);

  const taken = pieces.join();

  expect(Buffer.from(taken).toString()).toBe("12345");
  expect([taken.buffer, taken.byteOffset]).toEqual([bytes.buffer, bytes.byteOffset + 1]);
});

test("inserted bytes are not merged with the bytes around them", () => {
  const text = joined((pieces) => {
    pieces.insert(Buffer.from("<"));
    pieces.take(0, 1);
    pieces.insert(Buffer.from(">"));
    pieces.take(1, 2);
  });

  expect(text).toBe("<0>1");
});
