//! An array that is our own or somebody else's, read without a copy either way.
//!
//! Our own arrays are counted references to a vector, so a clone costs nothing and the last holder may change the array
//! in place. Foreign arrays (memory of NumPy or Arrow, a mapped file) are kept alive by their owner, are only ever read,
//! and are copied the first time they would be changed. Reading costs one more step than a vector does (the owner is
//! asked where the array is), so loops over elements take the slice once.
//!
//! ```
//! use std::sync::Arc;
//! use corpuscle::matrix::Buffer;
//! let numbers: Arc<[f32]> = Arc::new([1.0, 2.0]);
//! let mut buffer = Buffer::foreign(Arc::clone(&numbers));
//! assert_eq!(buffer.as_ptr(), numbers.as_ptr());
//! buffer.to_mut().push(3.0);
//! assert_eq!((&buffer[..], &numbers[..]), (&[1.0, 2.0, 3.0][..], &[1.0, 2.0][..]));
//! ```

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An array of numbers that is shared until it is changed.
pub struct Buffer<T: 'static> {
    /// Our array; empty and unused while there is a foreign one.
    own: Arc<Vec<T>>,
    foreign: Option<Arc<dyn AsRef<[T]> + Send + Sync>>,
}

impl<T> Buffer<T> {
    /// The array that `owner` keeps alive. The owner must give the same array whenever it is asked.
    pub fn foreign(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        Buffer { own: Arc::default(), foreign: Some(Arc::new(owner)) }
    }

    /// The array.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        match &self.foreign {
            None => &self.own,
            Some(owner) => (**owner).as_ref(),
        }
    }
}

impl<T: Clone> Buffer<T> {
    /// The array to change; copied before when others hold it or when it is foreign.
    #[inline]
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Some(owner) = self.foreign.take() {
            self.own = Arc::new((*owner).as_ref().to_vec());
        }
        Arc::make_mut(&mut self.own)
    }

    /// The array as a vector: moved when it is our own and nobody else holds it, else copied.
    pub fn into_vec(self) -> Vec<T> {
        match self.foreign {
            None => Arc::unwrap_or_clone(self.own),
            Some(owner) => (*owner).as_ref().to_vec(),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Buffer { own: Arc::new(values), foreign: None }
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { own: Arc::clone(&self.own), foreign: self.foreign.clone() }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Csr, Dense, Matrix};

    /// Somebody else's memory, which tells when it is let go of.
    struct Owner {
        values: Vec<f32>,
        _alive: Arc<()>,
    }

    impl AsRef<[f32]> for Owner {
        fn as_ref(&self) -> &[f32] {
            &self.values
        }
    }

    #[test]
    fn an_own_array_goes_in_and_out_in_place() {
        let values = vec![1.0f32, 2.0];
        let at = values.as_ptr();
        let mut buffer = Buffer::from(values);
        buffer.to_mut()[0] = 5.0;
        assert_eq!(buffer.as_ptr(), at);
        let values = buffer.into_vec();
        assert_eq!((values.as_ptr(), &values[..]), (at, &[5.0, 2.0][..]));
    }

    #[test]
    fn a_shared_array_is_copied_when_it_is_changed() {
        let mut one = Buffer::from(vec![1u32, 2]);
        let other = one.clone();
        assert_eq!(one.as_ptr(), other.as_ptr());
        one.to_mut().push(3);
        assert_eq!((&one[..], &other[..]), (&[1, 2, 3][..], &[1, 2][..]));
        assert_ne!(one.as_ptr(), other.as_ptr());
    }

    #[test]
    fn a_matrix_of_our_own_arrays_goes_in_and_out_in_place() {
        let (indptr, indices, values) = (vec![0u64, 1, 2], vec![0u32, 1], vec![3.0f32, 4.0]);
        let places = (indptr.as_ptr(), indices.as_ptr(), values.as_ptr());
        let mut x = Csr::new(2, indptr, indices, values).unwrap();
        x.values_mut()[0] = 6.0;
        let (indptr, indices, values) = x.into_parts();
        let (indptr, indices, values) = (indptr.into_vec(), indices.into_vec(), values.into_vec());
        assert_eq!((indptr.as_ptr(), indices.as_ptr(), values.as_ptr()), places);
        assert_eq!(values, [6.0, 4.0]);

        let values = vec![1.0f32; 6];
        let at = values.as_ptr();
        let mut a = Dense::new(2, 3, values).unwrap();
        a.row_mut(1)[2] = 2.0;
        let values = a.into_values();
        assert_eq!((values.as_ptr(), values[5]), (at, 2.0));
    }

    #[test]
    fn foreign_memory_is_kept_alive_and_read_where_it_is() {
        let alive = Arc::new(());
        let owner = Owner { values: vec![3.0, 4.0, 5.0], _alive: Arc::clone(&alive) };
        let at = owner.values.as_ptr();
        let x = Csr::new(2, vec![0, 2, 3], vec![0, 1, 1], Buffer::foreign(owner)).unwrap();
        let matrix = Matrix::from(x.clone());
        drop(x);
        assert_eq!(Arc::strong_count(&alive), 2);
        assert_eq!(matrix.sparse().values().as_ptr(), at);
        // Selecting, transposing and multiplying read it and leave it where it is.
        assert_eq!(matrix.select_rows(&[1]).sparse().row(0), (&[1][..], &[5.0][..]));
        assert_eq!(matrix.sparse().transpose().row(0), (&[0][..], &[3.0][..]));
        let product = matrix.multiply(&Dense::from_rows(&[[1.0], [2.0]]), &[0.0]).unwrap();
        assert_eq!(product.values(), [11.0, 10.0]);
        assert_eq!((matrix.sparse().values().as_ptr(), Arc::strong_count(&alive)), (at, 2));
        drop(matrix);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn foreign_memory_is_copied_before_it_is_changed() {
        let alive = Arc::new(());
        let owner = Owner { values: vec![3.0, 4.0], _alive: Arc::clone(&alive) };
        let given = Dense::new(1, 2, Buffer::foreign(owner)).unwrap();
        let mut matrix = Matrix::from(given.clone());
        matrix.normalize_rows();
        matrix.scale(10.0);
        assert_eq!((matrix.dense().values(), given.values()), (&[6.0, 8.0][..], &[3.0, 4.0][..]));
        drop(matrix);
        let mut longer = given.clone();
        longer.append_rows(&given).unwrap();
        assert_eq!((longer.rows(), given.rows()), (2, 1));
        drop(given);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
