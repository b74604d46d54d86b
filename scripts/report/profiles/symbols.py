# SPDX-License-Identifier: MIT
"""Names of functions, from the symbol tables of ELF files."""

import bisect
import os
import struct

SYMTAB, DYNSYM, LOAD, FUNCTION, IFUNC = 2, 11, 1, 2, 10


class Functions:
    """Those of one file; none if it cannot be read."""

    def __init__(self, path):
        self.loads, self.starts, self.functions = [], [], []
        try:
            with open(path, "rb") as file:
                self._read(file.read())
        except (OSError, struct.error, IndexError):
            self.loads, self.starts, self.functions = [], [], []

    def _read(self, data):
        if data[:5] != b"\x7fELF\x02":
            return
        head = struct.unpack_from("<16sHHIQQQIHHHHHH", data)
        for i in range(head[10]):
            kind, _, offset, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", data, head[5] + 56 * i)
            if kind == LOAD:
                self.loads.append((offset, length, address))
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, head[6] + 64 * i) for i in range(head[12])]
        tables = [one for one in sections if one[1] == SYMTAB] or [one for one in sections if one[1] == DYNSYM]
        found = {}
        for table in tables[:1]:
            names = sections[table[6]][4]
            for at in range(table[4], table[4] + table[5], 24):
                name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
                if info & 15 in (FUNCTION, IFUNC) and section != 0 and size > 0:
                    # Of two names of one place the global one is the better known.
                    if value not in found or info >> 4 != 0:
                        end = data.index(b"\0", names + name)
                        found[value] = (size, data[names + name:end].decode("utf-8", "replace"))
        self.starts = sorted(found)
        self.functions = [found[start] for start in self.starts]

    def name(self, file_offset):
        """The function at that place of the file, or None."""
        for offset, length, address in self.loads:
            if offset <= file_offset < offset + length:
                own = file_offset - offset + address
                i = bisect.bisect_right(self.starts, own) - 1
                if i >= 0 and own < self.starts[i] + self.functions[i][0]:
                    return self.functions[i][1]
        return None


class Names:
    """Names of addresses in a process with these mappings."""

    def __init__(self, mappings):
        self.mappings = mappings
        self.files, self.known = {}, {}

    def of(self, address):
        """The function; without a symbol the file and the place in it, without a file the address."""
        if address not in self.known:
            self.known[address] = self._find(address)
        return self.known[address]

    def _find(self, address):
        for mapping in self.mappings:
            if mapping.start <= address < mapping.limit:
                offset = address - mapping.start + mapping.offset
                if mapping.file not in self.files:
                    self.files[mapping.file] = Functions(mapping.file)
                name = self.files[mapping.file].name(offset)
                return name or f"{os.path.basename(mapping.file)}+{offset:#x}"
        return f"{address:#x}"
