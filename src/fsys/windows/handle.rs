//! The calls of Windows that no crate has a safe form of: opening a name relative to a directory
//! (`NtCreateFile`), what a handle says of its file, listing, and removal by handle. All that is
//! unsafe is here, each in a function that cannot be misused.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_OPEN, FILE_OPEN_FOR_BACKUP_INTENT, FILE_SYNCHRONOUS_IO_NONALERT, NtCreateFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_NO_MORE_FILES, OBJ_CASE_INSENSITIVE, RtlNtStatusToDosError, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_TAG_INFO, FILE_BASIC_INFO,
    FILE_DISPOSITION_FLAG_DELETE, FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE,
    FILE_DISPOSITION_FLAG_POSIX_SEMANTICS, FILE_DISPOSITION_INFO, FILE_DISPOSITION_INFO_EX,
    FILE_FULL_DIR_INFO, FILE_INFO_BY_HANDLE_CLASS, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE, FILE_TYPE_DISK, FileAttributeTagInfo, FileBasicInfo, FileDispositionInfo,
    FileDispositionInfoEx, FileFullDirectoryInfo, FileFullDirectoryRestartInfo,
    GetFileInformationByHandle, GetFileInformationByHandleEx, GetFileType, SYNCHRONIZE,
    SetFileInformationByHandle,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

/// Opens what a name in an open directory stands for. It is shared with everybody, also for removal.
pub fn open_at(
    directory: &OwnedHandle,
    name: &[u16],
    access: u32,
    options: u32,
) -> io::Result<OwnedHandle> {
    let length = u16::try_from(name.len() * 2).map_err(|_| io::ErrorKind::InvalidFilename)?;
    let name = UNICODE_STRING {
        Length: length,
        MaximumLength: length,
        Buffer: name.as_ptr().cast_mut(),
    };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: directory.as_raw_handle(),
        ObjectName: &name,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    let mut opened = null_mut();
    let mut said = IO_STATUS_BLOCK::default();
    // SAFETY: every pointer is to something that lives until the call is over; the name is only read.
    let status = unsafe {
        NtCreateFile(
            &mut opened,
            access | SYNCHRONIZE,
            &attributes,
            &mut said,
            null(),
            0,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            FILE_OPEN,
            options | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT,
            null(),
            0,
        )
    };
    if status < 0 {
        // SAFETY: it translates a number.
        let error = unsafe { RtlNtStatusToDosError(status) };
        return Err(io::Error::from_raw_os_error(error as i32));
    }
    // SAFETY: the call has succeeded, so that the handle is open and nobody else's.
    Ok(unsafe { OwnedHandle::from_raw_handle(opened) })
}

/// A call's answer as a result.
fn checked(answer: i32) -> io::Result<()> {
    if answer == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Has one of the structures filled that tell of a file. `T` is the one of `class`: plain numbers.
fn ask<T: Default>(file: &impl AsRawHandle, class: FILE_INFO_BY_HANDLE_CLASS) -> io::Result<T> {
    let mut answer = T::default();
    let place: *mut c_void = (&raw mut answer).cast();
    // SAFETY: no more is written than the size that is given.
    checked(unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), class, place, size_of::<T>() as u32)
    })?;
    Ok(answer)
}

/// Identity, size and attributes of an open file.
pub fn information(file: &impl AsRawHandle) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut answer = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the pointer is to a structure of this type.
    checked(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut answer) })?;
    Ok(answer)
}

/// The times of an open file, ChangeTime among them.
pub fn times(file: &impl AsRawHandle) -> io::Result<FILE_BASIC_INFO> {
    ask(file, FileBasicInfo)
}

/// What kind of reparse point an open file is.
pub fn reparse_tag(file: &impl AsRawHandle) -> io::Result<u32> {
    Ok(ask::<FILE_ATTRIBUTE_TAG_INFO>(file, FileAttributeTagInfo)?.ReparseTag)
}

/// Whether it is a file on a disk, and no pipe or device.
pub fn is_on_disk(file: &impl AsRawHandle) -> bool {
    // SAFETY: it only looks at the handle.
    unsafe { GetFileType(file.as_raw_handle()) == FILE_TYPE_DISK }
}

/// Removes an open file or empty directory: at once where the file system can, else as soon as
/// everybody has closed it.
pub fn remove(file: &impl AsRawHandle) -> io::Result<()> {
    let set = |class, place: *const c_void, size: usize| {
        // SAFETY: `place` is to a structure of `size` bytes, the one of `class`.
        checked(unsafe {
            SetFileInformationByHandle(file.as_raw_handle(), class, place, size as u32)
        })
    };
    let at_once = FILE_DISPOSITION_INFO_EX {
        Flags: FILE_DISPOSITION_FLAG_DELETE
            | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS
            | FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE,
    };
    let at_close = FILE_DISPOSITION_INFO { DeleteFile: true };
    set(
        FileDispositionInfoEx,
        (&raw const at_once).cast(),
        size_of::<FILE_DISPOSITION_INFO_EX>(),
    )
    .or_else(|_| {
        // File systems other than NTFS, and Windows before 10.
        set(
            FileDispositionInfo,
            (&raw const at_close).cast(),
            size_of::<FILE_DISPOSITION_INFO>(),
        )
    })
}

/// What listing a directory is read into; kept from one directory to the next.
pub struct DirBuffer(Vec<u64>);

impl Default for DirBuffer {
    fn default() -> Self {
        Self(vec![0; 8 * 1024])
    }
}

/// Calls `each` with name, attributes and reparse tag of everything in an open directory.
pub fn list(
    directory: &OwnedHandle,
    buffer: &mut DirBuffer,
    mut each: impl FnMut(&[u16], u32, u32),
) -> io::Result<()> {
    let mut class = FileFullDirectoryRestartInfo;
    loop {
        let size = (buffer.0.len() * size_of::<u64>()) as u32;
        // SAFETY: the buffer is of that size, and aligned as the structures in it are.
        let answer = checked(unsafe {
            GetFileInformationByHandleEx(
                directory.as_raw_handle(),
                class,
                buffer.0.as_mut_ptr().cast(),
                size,
            )
        });
        match answer {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(ERROR_NO_MORE_FILES as i32) => return Ok(()),
            Err(error) => return Err(error),
        }
        class = FileFullDirectoryInfo;
        // The records are read as numbers, so that nothing depends on what the kernel has written.
        let bytes: Vec<u8> = buffer
            .0
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let mut at = 0;
        loop {
            let length = number(at + offset_of!(FILE_FULL_DIR_INFO, FileNameLength)) as usize;
            let begin = at + offset_of!(FILE_FULL_DIR_INFO, FileName);
            let name: Vec<u16> = bytes
                .get(begin..begin + length)
                .ok_or(io::ErrorKind::InvalidData)?
                .chunks_exact(2)
                .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
                .collect();
            let attributes = number(at + offset_of!(FILE_FULL_DIR_INFO, FileAttributes));
            each(
                &name,
                attributes,
                number(at + offset_of!(FILE_FULL_DIR_INFO, EaSize)),
            );
            match number(at + offset_of!(FILE_FULL_DIR_INFO, NextEntryOffset)) {
                0 => break,
                next => at += next as usize,
            }
        }
    }
}
