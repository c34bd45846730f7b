import { describe, expect, test } from "vitest";
import { compareSpec, readCitations, readRules } from "../../scripts/check-spec.mts";

const ids = (places: readonly { id: string }[]): string[] => places.map((place) => place.id);

// Put together here, so that the script does not take the examples of this file for citations of its own.
const cite = (...cited: string[]): string => `[${cited.join(", ")}]`;

describe("the rules of SPEC.md", () => {
  test("are headings, list items and paragraphs that begin with an id in bold", () => {
    const text = [
      "# Specification",
      "### **P1** A frame is whole",
      "- **S3** Saved means saved.",
      "12. **H5** It sleeps.",
      "**LOG 1.3** Trim.",
      "**LOG 1.4.** Clip.",
    ].join("\n");
    expect(readRules("SPEC.md", text)).toEqual([
      { id: "P1", file: "SPEC.md", line: 2 },
      { id: "S3", file: "SPEC.md", line: 3 },
      { id: "H5", file: "SPEC.md", line: 4 },
      { id: "LOG 1.3", file: "SPEC.md", line: 5 },
      { id: "LOG 1.4", file: "SPEC.md", line: 6 },
    ]);
  });

  test("are not mentions inside a line, other bold text or examples in fences", () => {
    const text = ["See **P1**.", "- **Note** this", "P2 is plain", "```", "**P3** fenced", "```"].join("\n");
    expect(readRules("SPEC.md", text)).toEqual([]);
  });
});

describe("citations", () => {
  test("stand in the titles of tests and of groups, alone or in a list", () => {
    const source = [
      `describe("sleep ${cite("H1")}", () => {`,
      `  test(\`wakes ${cite("H5", "P1")}\`, async () => {});`,
      `  test.each([1, 2])("case %d ${cite("LOG 1.3")}", () => {});`,
      `  scenario(`,
      `    "a title " +`,
      `      'in two parts ${cite("S3")}',`,
      `    () => {},`,
      `  );`,
      `});`,
    ].join("\n");
    expect(readCitations("a.test.ts", source)).toEqual([
      { id: "H1", file: "a.test.ts", line: 1 },
      { id: "H5", file: "a.test.ts", line: 2 },
      { id: "P1", file: "a.test.ts", line: 2 },
      { id: "LOG 1.3", file: "a.test.ts", line: 3 },
      { id: "S3", file: "a.test.ts", line: 6 },
    ]);
  });

  test("are not comments, other strings, regular expressions or brackets with something else in them", () => {
    const source = [
      `// test("was ${cite("P1")}")`,
      `/* test("was ${cite("P2")}") */`,
      `const text = "${cite("P3")}";`,
      `const quote = /["'${cite("P4")}]/;`,
      `test("reads [a] and [p5] and P6", () => {});`,
    ].join("\n");
    expect(readCitations("a.test.ts", source)).toEqual([]);
  });
});

test("a rule without a citation, a citation without a rule and a rule said twice are mismatches", () => {
  const rules = readRules("SPEC.md", "- **P1** one\n- **P2** two\n- **P3** three\n- **P1** again");
  const citations = readCitations("a.test.ts", `test("x ${cite("P1", "P9")}")\ntest("y ${cite("P3")}")`);
  const { uncited, unknown, repeated } = compareSpec(rules, citations);
  expect(uncited).toEqual([{ id: "P2", file: "SPEC.md", line: 2 }]);
  expect(unknown).toEqual([{ id: "P9", file: "a.test.ts", line: 1 }]);
  expect(repeated).toEqual([{ id: "P1", file: "SPEC.md", line: 4 }]);
});

test("nothing is wrong when both agree", () => {
  const rules = readRules("SPEC.md", "- **P1** one\n- **LOG 2** two");
  const citations = readCitations("a.test.ts", `test("x ${cite("LOG 2", "P1")}")`);
  const { uncited, unknown, repeated } = compareSpec(rules, citations);
  expect([...ids(uncited), ...ids(unknown), ...ids(repeated)]).toEqual([]);
});
