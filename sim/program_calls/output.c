/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See output.h.
 */
#include "program_calls/output.h"

static void tell(const struct output *output, UWord error)
{
    VG_(fmsg)("%s: %s cannot be written (error %lu)\n", output->option, output->name, error);
}

Bool output_open(struct output *output, const HChar *option, const HChar *name)
{
    SysRes opened;

    output->option = option;
    output->name = VG_(expand_file_name)(option, name);
    output->error = 0;
    output->length = 0;
    opened = VG_(open)(output->name, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY,
                       VKI_S_IRUSR | VKI_S_IWUSR | VKI_S_IRGRP | VKI_S_IROTH);
    if (sr_isError(opened)) {
        tell(output, sr_Err(opened));
        VG_(free)(output->name);
        return False;
    }
    output->file = (Int)sr_Res(opened);
    return True;
}

static void flush(struct output *output)
{
    const HChar *text = output->text;

    while (output->length > 0 && output->error == 0) {
        Int written = VG_(write)(output->file, text, (Int)output->length);

        if (written > 0) {
            text += written;
            output->length -= (SizeT)written;
        } else if (written != -VKI_EINTR) {
            output->error = written < 0 ? (UWord)-written : VKI_EIO;
        }
    }
    output->length = 0;
}

static void put(HChar character, void *argument)
{
    struct output *output = argument;

    if (output->length == sizeof output->text)
        flush(output);
    output->text[output->length++] = character;
}

void output_format(struct output *output, const HChar *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    VG_(vcbprintf)(put, output, format, arguments);
    va_end(arguments);
}

Bool output_close(struct output *output)
{
    flush(output);
    VG_(close)(output->file);
    if (output->error != 0)
        tell(output, output->error);
    VG_(free)(output->name);
    return output->error == 0;
}
