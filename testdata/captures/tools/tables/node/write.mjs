// Writes the series as an Arrow file and a stream: node write.mjs FOLDER
import { writeFileSync } from "node:fs";
import { Dictionary, Int32, Table, Utf8, tableToIPC, vectorFromArray } from "apache-arrow";

const text = (cells) => vectorFromArray(cells, new Utf8());
const codes = (cells) => vectorFromArray(cells, new Dictionary(new Utf8(), new Int32()));
const table = new Table({
  __name__: text(["up", "up", "down"]),
  job: codes(["api", null, "web-with-a-long-name-that-is-not-inline"]),
  zone: codes(["a", "b", "a"]),
});
writeFileSync(`${process.argv[2]}/javascript.arrow`, tableToIPC(table, "file"));
writeFileSync(`${process.argv[2]}/javascript-stream.arrows`, tableToIPC(table, "stream"));
